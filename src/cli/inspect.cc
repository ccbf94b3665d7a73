// paceline inspect: what a checkpoint is, what it costs, and what this machine would run it with; or what it would be
// given of pictures.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/generate_options.h"
#include "cli/inspect_pictures.h"
#include "model/checkpoint_report.h"
#include "model/load.h"
#include "session/machine.h"
#include "session/model_path.h"

namespace paceline {
namespace {

constexpr const char* kInspectExamples = R"(
Examples:
  paceline inspect
  paceline inspect google/gemma-4-E2B-it
  paceline inspect models/default --json | jq .weight_bytes
  paceline inspect --image photo.jpg --image-tokens 280

SHA-256 reads every byte of the weights; --no-hash leaves it out.)";

struct InspectOptions {
  std::string model;
  std::vector<std::string> images;
  int32_t image_tokens = 0;
  bool no_hash = false;
  bool json = false;
};

Result<std::string> pictures_text(const std::filesystem::path& folder, Machine& machine,
                                  const InspectOptions& options) {
  TRY_ASSIGN(const LoadedModel model, load_model(folder, machine.pool()));
  TRY_ASSIGN(const auto vision, Vision::load(model, Precision::bf16, machine.pool(), machine.ops()));
  return inspect_pictures(*vision, options.images, options.image_tokens, options.json);
}

Result<std::string> model_text(const std::filesystem::path& folder, Machine& machine, const InspectOptions& options) {
  const Hashing hashing = options.no_hash ? Hashing::skip : Hashing::sha256;
  if (options.json) {
    TRY_ASSIGN(const std::string json, checkpoint_report_json(folder, machine.pool(), hashing, machine.kernels_name()));
    return json + "\n";
  }
  TRY_ASSIGN(const std::string text, checkpoint_report_text(folder, machine.pool(), hashing));
  return fmt::format("{}\nmachine: {} kernels, {} threads\n", text, machine.kernels_name(), machine.pool().threads());
}

int run_inspect(const InspectOptions& options) {
  const auto folder = find_model(options.model);
  if (!folder.ok()) return fail(kExitFailure, folder.error().message);
  auto machine = Machine::make({});
  if (!machine.ok()) return fail(kExitFailure, machine.error().message);
  const auto text =
      options.images.empty() ? model_text(*folder, **machine, options) : pictures_text(*folder, **machine, options);
  if (!text.ok()) return fail(kExitFailure, text.error().message);
  const std::error_code error = write_out(*text);
  return error ? fail_to_write(error) : kExitDone;
}

}  // namespace

void add_inspect_command(const Command& program, Action& action) {
  const Command command = program.add_subcommand("inspect", "Say what a model is and what it needs");
  auto options = std::make_shared<InspectOptions>();
  command
      ->add_option("DIR", options->model,
                   "Folder or GGUF file, org/name[:quant] from a local cache, ollama:NAME; default: as for generate")
      ->check(model_is_named);
  command->add_option("--image", options->images, "What the model is given of this picture; repeatable")
      ->type_name("FILE")
      ->allow_extra_args(false);
  command->add_option("--image-tokens", options->image_tokens, "Tokens that a picture may take; default: the model's")
      ->one_of({70, 140, 280, 560, 1120})
      ->type_name("70|140|280|560|1120");
  command->add_flag("--no-hash", options->no_hash, "Leave out the SHA-256 of the weights");
  command->add_flag("--json", options->json, "One JSON object instead of the text");
  command->footer(kInspectExamples);
  command->callback([options, &action] { action = [options] { return run_inspect(*options); }; });
}

}  // namespace paceline
