// paceline check: are the arithmetic, the tokenizer and the chat templates what another implementation says they should
// be?
#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <functional>

#include "cli/check_gguf.h"
#include "cli/check_kv.h"
#include "cli/check_pace.h"
#include "cli/check_speculation.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/generate_options.h"
#include "proof/encodings_check.h"
#include "proof/gguf_goldens.h"
#include "proof/goldens.h"
#include "proof/goldens_report.h"
#include "proof/templates_check.h"
#include "session/machine.h"

namespace paceline {
namespace {

constexpr const char* kCheckExamples = R"(
Examples:
  paceline check tests/goldens
  paceline check tests/goldens/moe --precision f32 --json
  paceline check tests/goldens --speculation
  paceline check --tokenizer tokenizer.json encodings.json.xz
  paceline check --templates templates/
  paceline check --text book.txt --kv q8 -m google/gemma-4-12B-it
  paceline check --pace

A goldens folder has golden.json, golden.safetensors and the checkpoint in target/; or subfolders that have them.
A folder of GGUF goldens has X.gguf with X.json and X.safetensors, blocks.safetensors, encodings.json, hostile.json.
A templates folder has chat templates, and in renderings.json conversations and what they become.
Exit codes: 0 all agree, 1 something differs or cannot be read, 2 the command line makes no sense.)";

struct CheckOptions {
  std::string target;  // a goldens folder, or the encodings
  std::string tokenizer;
  std::string templates;
  std::string text;
  RunOptions run;
  bool speculation = false;
  bool whole = false;
  bool pace = false;
  int32_t rounds = 9;
  bool json = false;
};

int check_goldens(const CheckOptions& options) {
  auto machine = Machine::make({.threads = options.run.threads, .device = options.run.device});
  if (!machine.ok()) return fail(kExitFailure, machine.error().message);
  if (has_gguf_goldens(options.target))
    return check_gguf_of(options.target, options.run.precision, options.json, **machine);
  const auto cases = find_golden_cases(options.target);
  if (!cases.ok()) return fail(kExitFailure, cases.error().message);
  if (options.speculation) return check_speculation_of(*cases, options.whole, options.json, **machine);
  std::vector<GoldenCheck> checks;
  for (const auto& folder : *cases) {
    auto check = check_golden_case(folder, {.precision = options.run.precision}, (*machine)->pool(), (*machine)->ops());
    if (!check.ok()) return fail(kExitFailure, fmt::format("{}: {}", folder.string(), check.error().message));
    checks.push_back(std::move(*check));
  }
  if (options.json) {
    if (const auto error = write_out(boost::json::serialize(goldens_json(checks, options.run.precision)) + "\n"))
      return fail_to_write(error);
  } else if (const auto error = write_out(goldens_table(checks, options.run.precision))) {
    return fail_to_write(error);
  }
  const bool missed = std::any_of(checks.begin(), checks.end(),
                                  [&](const GoldenCheck& check) { return !check.passed(options.run.precision); });
  return missed ? kExitFailure : kExitDone;
}

int check_tokenizer(const CheckOptions& options) {
  const auto report = check_encodings_files(options.tokenizer, options.target);
  if (!report.ok()) return fail(kExitFailure, report.error().message);
  const auto line = [&](const char* what, size_t equal, size_t rows) {
    if (rows > 0) fmt::print("{:<24} {:>7} of {:>7} equal\n", what, equal, rows);
  };
  line("encode", report->encode_equal, report->encode_rows);
  line("decode", report->decode_equal, report->decode_rows);
  line("decode without special", report->decode_without_special_equal, report->decode_without_special_rows);
  for (const std::string& mismatch : report->first_mismatches) fmt::print("  {}\n", mismatch);
  return report->all_equal() ? kExitDone : kExitFailure;
}

int check_templates_folder(const CheckOptions& options) {
  const auto report = check_templates(options.templates);
  if (!report.ok()) return fail(kExitFailure, report.error().message);
  for (const TemplateReport& each : report->templates) {
    const std::string refused = each.refused > 0 ? fmt::format(", {} refused by both", each.refused) : "";
    fmt::print("{:<55} {:>3} of {:>3} equal{}\n", each.name, each.equal, each.conversations, refused);
    if (!each.first_difference.empty()) fmt::print("  {}\n", each.first_difference);
  }
  const std::string day = report->day.empty() ? "" : fmt::format(", with the clock at {}", report->day);
  fmt::print("{} of {} renderings of {} templates equal{}\n", report->equal(), report->conversations(),
             report->templates.size(), day);
  return report->all_equal() ? kExitDone : kExitFailure;
}

int run_check(const CheckOptions& options) {
  if (!options.templates.empty()) {
    if (!options.target.empty() || !options.tokenizer.empty())
      return fail(kExitUsage, "check --templates DIR goes alone");
    return check_templates_folder(options);
  }
  if (!options.text.empty()) {
    if (!options.target.empty() || !options.tokenizer.empty())
      return fail(kExitUsage, "check --text FILE wants -m and --kv, and no goldens");
    return check_kv_of(options.run, options.text, options.json);
  }
  if (!options.pace && !options.run.model.empty()) return fail(kExitUsage, "check -m goes with --text or --pace");
  if (options.pace) {
    if (!options.target.empty() || !options.tokenizer.empty())
      return fail(kExitUsage, "check --pace wants at most -m, and no goldens");
    return check_pace_of(options.run, options.rounds, options.json);
  }
  if (options.target.empty()) {
    return fail(kExitUsage,
                "check wants a goldens folder, or --tokenizer and a file of encodings, or --templates and a folder, or "
                "--text and a file, or --pace");
  }
  return options.tokenizer.empty() ? check_goldens(options) : check_tokenizer(options);
}

}  // namespace

void add_check_command(const Command& program, Action& action) {
  const Command command = program.add_subcommand("check", "Compare with results of another implementation");
  auto options = std::make_shared<CheckOptions>();
  options->run.precision = Precision::f32;
  command->add_option("DIR", options->target,
                      "A goldens folder; with --tokenizer, a file of encodings (may be packed with xz)");
  const Option tokenizer = command->add_option(
      "--tokenizer", options->tokenizer, "Check this tokenizer.json (may be packed with xz) against the encodings");
  tokenizer->type_name("FILE");
  const Option speculation =
      command->add_flag("--speculation", options->speculation,
                        "Check speculation: proposals against the goldens', and the text with every "
                        "kind of drafter against the plain run's");
  speculation->excludes(tokenizer);
  command->add_flag("--whole", options->whole, "With --speculation: every combination, not a slice (takes long)")
      ->needs(speculation);
  const Option templates =
      command->add_option("--templates", options->templates, "Check our rendering of this folder's chat templates");
  templates->type_name("DIR");
  const Option text =
      command->add_option("--text", options->text,
                          "What --kv costs: this text's next tokens with keys and values in it, beside float32 "
                          "and bf16");
  text->type_name("FILE")->excludes(templates);
  const Option pace = command->add_flag(
      "--pace", options->pace, "What one request costs through the engine, beside the bare loop over the same model");
  pace->excludes(templates)->excludes(text);
  command->add_option("--rounds", options->rounds, "With --pace: how many texts of each, in turn")
      ->needs(pace)
      ->range(1, 10000)
      ->capture_default_str();
  command->add_option("-m,--model", options->run.model, "With --text or --pace: the checkpoint, as for generate")
      ->type_name("DIR");
  add_compute_options(command, options->run);
  command->add_flag("--json", options->json, "One JSON list instead of the table");
  command->footer(kCheckExamples);
  command->callback([command, options, &action] {
    // Time is measured as people run it; all else is compared in float32.
    const auto given = command->given_options();
    if (options->pace && std::find(given.begin(), given.end(), "--precision") == given.end())
      options->run.precision = Precision::bf16;
    action = [options] { return run_check(*options); };
  });
}

}  // namespace paceline
