// paceline quantize: a checkpoint with its matrices packed in 8 or 4 bits.
#include "model/quantize.h"

#include <fmt/format.h>

#include "base/units_text.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/generate_options.h"
#include "cli/progress.h"
#include "session/model_path.h"

namespace paceline {
namespace {

constexpr const char* kQuantizeExamples = R"(
Examples:
  paceline quantize google/gemma-4-E2B-it gemma-4-E2B-it-q4 --bits 4
  paceline quantize google/gemma-4-E2B-it-assistant gemma-4-E2B-it-q4-assistant --bits 8 --group 32

The result is a folder that paceline and MLX read. It appears complete or not at all.
What is packed already, as the model that came with the program is, cannot be packed again.)";

struct QuantizeOptions {
  std::string model, output;
  QuantSpec spec;
  int threads = 0;
  bool quiet = false;
};

int run_quantize(const QuantizeOptions& options) {
  const auto folder = find_model(options.model);
  if (!folder.ok()) return fail(kExitFailure, folder.error().message);
  ThreadPool pool(options.threads);
  const bool tells = !options.quiet && stderr_is_terminal();
  ProgressBar bar("quantising", tells);
  const auto summary = quantize_checkpoint(*folder, options.output, options.spec, pool,
                                           [&](int done, int total) { bar.update(done, total); });
  bar.clear();
  if (!summary.ok()) return fail(kExitFailure, summary.error().message);
  if (tells) {
    tell(fmt::format("{}: {} tensors in {} bits, {} as they were; {} → {}\n", options.output, summary->quantised,
                     options.spec.bits, summary->kept, bytes_text(static_cast<double>(summary->bytes_before)),
                     bytes_text(static_cast<double>(summary->bytes_after))));
  }
  return kExitDone;
}

}  // namespace

void add_quantize_command(const Command& program, Action& action) {
  const Command command = program.add_subcommand("quantize", "Pack a model's matrices in 8 or 4 bits");
  auto options = std::make_shared<QuantizeOptions>();
  command->add_option("IN", options->model, "Folder, or org/name from the local Hugging Face cache")
      ->required()
      ->check(model_is_named);
  command->add_option("OUT", options->output, "The folder to make; must not exist")->required();
  command->add_option("--bits", options->spec.bits, "Bits per weight")
      ->one_of({4, 8})
      ->type_name("4|8")
      ->capture_default_str();
  command->add_option("--group", options->spec.group, "Weights that share a scale")
      ->one_of({32, 64, 128})
      ->type_name("32|64|128")
      ->capture_default_str();
  command->add_option("--threads", options->threads, "Threads; 0: one per core that may be used")
      ->range(0, 1024)
      ->capture_default_str();
  command->add_flag("--quiet", options->quiet, "No progress and no summary");
  command->footer(kQuantizeExamples);
  command->callback([options, &action] { action = [options] { return run_quantize(*options); }; });
}

}  // namespace paceline
