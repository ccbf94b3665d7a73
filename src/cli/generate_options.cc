#include "cli/generate_options.h"

#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>

#include "cli/console.h"

namespace paceline {
namespace {

void add_prompt_options(const Command& command, GenerateOptions& options) {
  constexpr const char* kGroup = "Prompt";
  const Option text = command.add_option("-p,--prompt", options.prompt_text, "The prompt");
  text->group(kGroup)->type_name("TEXT");
  const Option file =
      command.add_option("-f,--file", options.prompt_file, "Read the prompt from a file, byte for byte");
  file->group(kGroup)->type_name("FILE")->excludes(text);
  command.add_option("--image", options.images, "A picture to look at: JPEG, PNG, WebP, GIF or BMP; repeatable")
      ->group(kGroup)
      ->type_name("FILE")
      ->allow_extra_args(false);
  command
      .add_option("--image-tokens", options.image_tokens,
                  "Tokens that a picture may take; more see finer things. Default: what the model's files say")
      ->group(kGroup)
      ->one_of({70, 140, 280, 560, 1120})
      ->type_name("70|140|280|560|1120");
  command
      .add_option("--video", options.videos,
                  "A clip to look at: MP4, WebM or what else FFmpeg reads; repeatable, also among pictures")
      ->group(kGroup)
      ->type_name("FILE")
      ->allow_extra_args(false);
  command
      .add_option("--video-frames", options.video_frames,
                  "Frames of a clip, evenly spread; default: as many as the model's files say, mostly 32")
      ->group(kGroup)
      ->range(1, kMostFrames);
  command.add_option("--system", options.request.system, "What the model is told before the prompt (chat)")
      ->group(kGroup)
      ->type_name("TEXT");
  const Option raw =
      command.add_flag("--raw", options.request.raw, "Continue the prompt as it is, without chat template");
  raw->group(kGroup);
  command.add_flag("--chat", options.chat, "Insist on the chat template")->group(kGroup)->excludes(raw);
}

void add_ending_options(const Command& command, GenerateOptions& options) {
  constexpr const char* kGroup = "Ending";
  command.add_option("-n,--max-tokens", options.request.max_tokens, "At most so many new tokens")
      ->group(kGroup)
      ->range(1, 1 << 30)
      ->capture_default_str();
  const auto is_some = [](const std::string& text) -> std::string {
    return text.empty() ? "expected a text, found an empty one, which would end every output before it begins" : "";
  };
  command.add_option("--stop", options.request.stop_strings, "End before this text; repeatable")
      ->group(kGroup)
      ->check(is_some)
      ->type_name("TEXT")
      ->allow_extra_args(false);
  command.add_option("--stop-id", options.request.stop_ids, "End at this token; repeatable")
      ->group(kGroup)
      ->type_name("ID")
      ->allow_extra_args(false);
  command.add_flag("--ignore-eos", options.request.ignore_eos, "Go on past the model's own end of text")->group(kGroup);
}

void add_output_options(const Command& command, GenerateOptions& options) {
  constexpr const char* kGroup = "Output";
  const Option json =
      command.add_flag("--json", options.json, "One JSON object with text, tokens and times, not the text");
  json->group(kGroup);
  command.add_flag("--show-draft", options.show_draft, "On a terminal: accepted guesses green, corrected ones red")
      ->group(kGroup)
      ->excludes(json);
  const Option quiet = command.add_flag("--quiet", options.quiet, "No progress and no summary, not even on a terminal");
  quiet->group(kGroup);
  command.add_flag("--verbose", options.verbose, "Progress and summary on stderr though it is no terminal")
      ->group(kGroup)
      ->excludes(quiet);
}

// More than any context has; what goes on for ever ends here, too.
constexpr size_t kMaxPromptBytes = size_t{256} << 20;

Result<std::string> read_all(std::istream& stream, const std::string& name) {
  std::string text;
  std::vector<char> piece(size_t{1} << 16);
  while (stream.read(piece.data(), static_cast<std::streamsize>(piece.size())) || stream.gcount() > 0) {
    text.append(piece.data(), static_cast<size_t>(stream.gcount()));
    if (text.size() > kMaxPromptBytes)
      return Error{fmt::format("{}: more than {} bytes; a prompt has at most as many", name, kMaxPromptBytes)};
  }
  return text;
}

}  // namespace

std::string model_is_named(const std::string& name) {
  return name.empty() ? "expected a folder or org/name, found an empty text" : "";
}

void add_run_options(const Command& command, RunOptions& options) {
  constexpr const char* kGroup = "Model";
  command
      .add_option(
          "-m,--model", options.model,
          "Folder in Hugging Face layout or GGUF file, org/name[:quant] from the local Hugging Face cache or LM "
          "Studio, or ollama:NAME[:TAG]; default: $PACELINE_MODEL, or the model that came with the program")
      ->group(kGroup)
      ->type_name("DIR")
      ->check(model_is_named);
  add_compute_options(command, options);
}

void add_device_option(const Command& command, Device& device) {
  command
      .add_choice<Device>("--device", device,
                          {{"auto", Device::automatic}, {"cpu", Device::cpu}, {"cuda", Device::cuda}},
                          "What to compute with; auto: a CUDA device where there is one")
      ->group("Model")
      ->type_name("auto|cpu|cuda")
      ->default_str("auto");
}

void add_compute_options(const Command& command, RunOptions& options) {
  constexpr const char* kGroup = "Model";
  add_device_option(command, options.device);
  command.add_option("--threads", options.threads, "Threads; 0: one per core that may be used")
      ->group(kGroup)
      ->range(0, 1024)
      ->capture_default_str();
  command
      .add_choice<Precision>("--precision", options.precision, {{"bf16", Precision::bf16}, {"f32", Precision::f32}},
                             "Arithmetic of unquantised matrices and of the KV cache")
      ->group(kGroup)
      ->type_name("bf16|f32")
      ->default_str(options.precision == Precision::f32 ? "f32" : "bf16");
  const auto add_kv = [&](const char* name, KvChoice& choice, const char* text) {
    command
        .add_choice<KvChoice>(name, choice,
                              {{"auto", KvChoice::automatic}, {"bf16", KvChoice::bf16}, {"q8", KvChoice::q8}}, text)
        ->group(kGroup)
        ->type_name("auto|bf16|q8")
        ->default_str("auto");
  };
  add_kv("--kv", options.kv, "What keys and values are kept in; q8: half the memory; auto: what --precision says");
  add_kv("--kv-sliding", options.kv_sliding, "The same for layers that see a window");
}

void add_generate_options(const Command& command, GenerateOptions& options) {
  add_prompt_options(command, options);
  add_run_options(command, options.run);
  command.add_option("--ctx", options.request.context, "Most tokens, prompt included; 0: as much as the model has")
      ->group("Model")
      ->range(0, 1 << 30)
      ->capture_default_str();
  add_sampling_options(command, options.sampling);
  add_ending_options(command, options);
  add_draft_options(command, options.draft);
  add_output_options(command, options);
}

void order_shown_files(const Command& command, GenerateOptions& options) {
  options.shown.clear();
  size_t images = 0, videos = 0;
  for (const std::string& name : command.given_options()) {
    if (name == "--image") options.shown.push_back({options.images[images++], false});
    if (name == "--video") options.shown.push_back({options.videos[videos++], true});
  }
}

Status complete_sampling(GenerateOptions& options, const ModelConfig& config) {
  SamplingOptions& asked = options.sampling;
  TRY(complete_biases(asked));
  if (!asked.seed) asked.seed = std::random_device()();
  SampleSettings& sampling = options.request.sampling;
  sampling = asked.settings;
  sampling.temperature = asked.temperature.value_or(config.temperature);
  sampling.top_k = asked.top_k.value_or(config.top_k);
  sampling.top_p = asked.top_p.value_or(config.top_p);
  sampling.seed = *asked.seed;
  for (const TokenId id : options.request.stop_ids) {
    if (id < 0 || id >= config.vocab)
      return Error{fmt::format("--stop-id: expected an id from 0 to {}, found {}", config.vocab - 1, id)};
  }
  return check_settings(sampling, config.vocab);
}

Result<std::string> read_prompt(const GenerateOptions& options) {
  if (options.prompt_text) return *options.prompt_text;
  if (options.prompt_file) {
    std::ifstream file(*options.prompt_file, std::ios::binary);
    // A folder can be opened too, but not read.
    if (!file || file.peek() == EOF) return Error{fmt::format("{}: cannot be read, or is empty", *options.prompt_file)};
    return read_all(file, *options.prompt_file);
  }
  if (stdin_is_terminal()) return Error{"no prompt: give -p TEXT or -f FILE, or pipe text in"};
  return read_all(std::cin, "standard input");
}

}  // namespace paceline
