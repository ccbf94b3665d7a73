// paceline quantize: a checkpoint with its matrices packed in 8 or 4 bits, as a folder or as GGUF.
#include "model/quantize.h"

#include <fmt/format.h>

#include "base/units_text.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/generate_options.h"
#include "cli/progress.h"
#include "session/model_path.h"
#include "weights/gguf/gguf_checkpoint.h"
#include "weights/gguf/writing/write_gguf.h"

namespace paceline {
namespace {

constexpr const char* kQuantizeExamples = R"(
Examples:
  paceline quantize google/gemma-4-E2B-it gemma-4-E2B-it-q4 --bits 4
  paceline quantize google/gemma-4-E2B-it-assistant gemma-4-E2B-it-q4-assistant --bits 8 --group 32
  paceline quantize google/gemma-4-E2B-it gemma-4-E2B-it-Q4_K_M.gguf --type Q4_K_M

The result is a folder that paceline and MLX read or, where OUT ends in .gguf, a file that llama.cpp and its kin read as
well, with the vision side in mmproj-OUT beside it. It appears complete or not at all.
What is packed already, as the model that came with the program is, cannot be packed again.)";

struct QuantizeOptions {
  std::string model, output;
  QuantSpec spec;
  std::string type = "Q4_K_M";
  bool has_spec = false, has_type = false;
  int threads = 0;
  bool quiet = false;
};

bool writes_gguf(const QuantizeOptions& options) { return options.output.ends_with(".gguf"); }

int run_to_gguf(const QuantizeOptions& options, const std::filesystem::path& folder, ThreadPool& pool) {
  const auto recipe = GgufRecipe::named(options.type);
  if (!recipe.ok()) return fail(kExitUsage, recipe.error().message);
  if (is_gguf_place(folder)) {
    return fail(kExitFailure,
                fmt::format("{}: expected a folder in Hugging Face layout to quantise, found GGUF", folder.string()));
  }
  const auto checkpoint = Checkpoint::open(folder);
  if (!checkpoint.ok()) return fail(kExitFailure, checkpoint.error().message);
  const bool tells = !options.quiet && stderr_is_terminal();
  ProgressBar bar("quantising", tells);
  const auto summary =
      write_gguf(**checkpoint, options.output, *recipe, pool, [&](int done, int total) { bar.update(done, total); });
  bar.clear();
  if (!summary.ok()) return fail(kExitFailure, summary.error().message);
  if (tells) {
    tell(fmt::format("{}: {} tensors in blocks, {} as they were; {} → {}\n", options.output, summary->quantised,
                     summary->kept, bytes_text(static_cast<double>(summary->bytes_before)),
                     bytes_text(static_cast<double>(summary->bytes_after))));
    if (!summary->vision.empty()) tell(fmt::format("{}: its vision side\n", summary->vision.string()));
  }
  return kExitDone;
}

int run_quantize(const QuantizeOptions& options) {
  if (writes_gguf(options) && options.has_spec)
    return fail(kExitUsage, "--bits and --group are of the MLX layout; a .gguf file takes --type");
  if (!writes_gguf(options) && options.has_type)
    return fail(kExitUsage, fmt::format("--type is of GGUF; expected OUT to end in .gguf, found {}", options.output));
  const auto folder = find_model(options.model);
  if (!folder.ok()) return fail(kExitFailure, folder.error().message);
  ThreadPool pool(options.threads);
  if (writes_gguf(options)) return run_to_gguf(options, *folder, pool);
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
  command->add_option("OUT", options->output, "The folder or .gguf file to make; must not exist")->required();
  command->add_option("--bits", options->spec.bits, "Bits per weight")
      ->one_of({4, 8})
      ->type_name("4|8")
      ->each([options](const std::string&) { options->has_spec = true; })
      ->capture_default_str();
  command->add_option("--group", options->spec.group, "Weights that share a scale")
      ->one_of({32, 64, 128})
      ->type_name("32|64|128")
      ->each([options](const std::string&) { options->has_spec = true; })
      ->capture_default_str();
  command->add_option("--type", options->type, "What a .gguf file is made of")
      ->one_of({"Q8_0", "Q4_0", "Q4_K_M", "BF16"})
      ->type_name("Q8_0|Q4_0|Q4_K_M|BF16")
      ->each([options](const std::string&) { options->has_type = true; })
      ->capture_default_str();
  command->add_option("--threads", options->threads, "Threads; 0: one per core that may be used")
      ->range(0, 1024)
      ->capture_default_str();
  command->add_flag("--quiet", options->quiet, "No progress and no summary");
  command->footer(kQuantizeExamples);
  command->callback([options, &action] { action = [options] { return run_quantize(*options); }; });
}

}  // namespace paceline
