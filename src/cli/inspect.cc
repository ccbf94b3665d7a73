// paceline inspect: what a checkpoint is, what it costs, and what this machine would run it with.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/machine.h"
#include "cli/model_path.h"
#include "model/config_reader.h"
#include "model/load.h"
#include "model/mtp_binding.h"
#include "model/report.h"

namespace paceline {
namespace {

constexpr const char* kExamples = R"(
Examples:
  paceline inspect
  paceline inspect google/gemma-4-E2B-it
  paceline inspect models/default --json | jq .weight_bytes

SHA-256 reads every byte of the weights; --no-hash leaves it out.)";

struct InspectOptions {
  std::string model;
  bool no_hash = false;
  bool json = false;
};

Result<ModelReport> report_on(const std::filesystem::path& folder, ThreadPool& pool, Hashing hashing) {
  TRY_ASSIGN(const auto checkpoint, Checkpoint::open(folder));
  if (is_assistant_config(checkpoint->config_json())) {
    TRY_ASSIGN(const auto drafter, load_mtp(folder, pool));
    return make_report(*drafter, *checkpoint, hashing);
  }
  TRY_ASSIGN(const LoadedModel model, load_model(folder, pool));
  return make_report(model, hashing);
}

int run_inspect(const InspectOptions& options) {
  const auto folder = find_model(options.model);
  if (!folder.ok()) return fail(kExitFailure, folder.error().message);
  auto machine = Machine::make({});
  if (!machine.ok()) return fail(kExitFailure, machine.error().message);
  const auto report = report_on(*folder, (*machine)->pool(), options.no_hash ? Hashing::skip : Hashing::sha256);
  if (!report.ok()) return fail(kExitFailure, report.error().message);
  std::string text;
  if (options.json) {
    text = report_json(*report, (*machine)->kernels_name()) + "\n";
  } else {
    text = fmt::format("{}\nmachine: {} kernels, {} threads\n", report_text(*report), (*machine)->kernels_name(),
                       (*machine)->pool().threads());
  }
  return write_out(text) ? kExitDone : fail(kExitFailure, "cannot write to standard output");
}

}  // namespace

void add_inspect_command(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("inspect", "Say what a model is and what it needs");
  auto options = std::make_shared<InspectOptions>();
  command->add_option("DIR", options->model,
                      "Folder, or org/name from the local Hugging Face cache; default: as for generate");
  command->add_flag("--no-hash", options->no_hash, "Leave out the SHA-256 of the weights");
  command->add_flag("--json", options->json, "One JSON object instead of the text");
  command->footer(kExamples);
  command->callback([options, &action] { action = [options] { return run_inspect(*options); }; });
}

}  // namespace paceline
