// paceline generate: a prompt in, text on stdout and nothing else there.
#include "session/generate.h"

#include <fmt/format.h>

#include <boost/json.hpp>

#include "base/units_text.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/generate_options.h"
#include "cli/interrupt.h"
#include "cli/origin_colour.h"
#include "cli/progress.h"
#include "session/opened_model.h"

namespace paceline {
namespace {

constexpr const char* kGenerateExamples = R"(
Examples:
  paceline generate -p "Why is the sky blue?"
  paceline generate -m google/gemma-4-E2B-it --system "Answer in one line." -p "What is a cat?"
  paceline generate --raw -p "def fibonacci(n):" --temp 0 -n 100
  paceline generate -m google/gemma-4-E2B-it --draft google/gemma-4-E2B-it-assistant --show-draft -p "Why?"
  paceline generate --image photo.jpg -p "What is in this picture?"
  paceline generate --video clip.mp4 --video-frames 8 -p "What happens here?"
  git diff | paceline generate --json --seed 7 | jq -r .text

Text goes to stdout and nothing else does. Progress and a summary go to stderr when that is a terminal.
Exit codes: 0 done, 1 something failed, 2 the command line makes no sense, 130 ended by Ctrl-C.)";

double per_second(int64_t count, double ms) { return ms > 0 ? static_cast<double>(count) * 1000 / ms : 0; }

// decode_ms begins when the first token is there.
int64_t timed_tokens(const GenerateResult& result) {
  return std::max<int64_t>(static_cast<int64_t>(result.tokens.size()) - 1, 0);
}

double written_per_ms(const GenerateResult& result) { return per_second(timed_tokens(result), result.decode_ms) / 1e3; }

std::string summary_of(const GenerateResult& result, uint64_t seed) {
  const auto count = static_cast<int64_t>(result.tokens.size());
  return fmt::format("prompt {} tokens in {} ({:.0f}/s) · output {} tokens in {} ({:.1f}/s) · end: {} · seed {}\n",
                     result.prompt_tokens, time_text(result.prompt_ms),
                     per_second(result.prompt_tokens, result.prompt_ms), count, time_text(result.decode_ms),
                     per_second(timed_tokens(result), result.decode_ms), finish_reason_name(result.finish), seed);
}

std::string json_of(const GenerateResult& result, const GenerateOptions& options, const std::string& model,
                    const Drafting& drafting) {
  boost::json::object object;
  object["model"] = model;
  object["text"] = result.text;
  object["finish_reason"] = finish_reason_name(result.finish);
  object["prompt_tokens"] = result.prompt_tokens;
  object["completion_tokens"] = result.tokens.size();
  object["tokens"] = boost::json::value_from(result.tokens);
  object["seed"] = *options.sampling.seed;
  object["prompt_ms"] = result.prompt_ms;
  object["decode_ms"] = result.decode_ms;
  object["speculation"] = draft_json(drafting, result.counters);
  return boost::json::serialize(object) + "\n";
}

// All the memory that one request asks for, and nothing kept behind it.
EngineSettings settings_for_one() {
  EngineSettings settings;
  settings.kv_bytes = 0;
  settings.keeps_prefixes = false;
  return settings;
}

class GenerateCommand {
 public:
  explicit GenerateCommand(GenerateOptions& options)
      : options_(options),
        tells_(!options.quiet && (options.verbose || stderr_is_terminal())),
        colours_(options.show_draft && stdout_shows_colours()) {}

  int run() {
    auto prompt = read_prompt(options_);
    if (!prompt.ok()) return fail(options_.prompt_file ? kExitFailure : kExitUsage, prompt.error().message);
    options_.request.prompt = std::move(*prompt);
    if (options_.request.prompt.empty()) return fail(kExitUsage, "the prompt is empty");

    if (const Status status = check_draft_options(options_.draft); !status.ok()) {
      return fail(kExitUsage, status.error().message);
    }
    auto opened = open();
    if (!opened.ok()) return fail(kExitFailure, opened.error().message);
    const TextModel& model = (*opened)->text();
    choose_format(model);
    if (const Status status = complete_sampling(options_, model.loaded.config); !status.ok()) {
      return fail(kExitUsage, status.error().message);
    }
    if (const Status read = read_shown((*opened)->vision()); !read.ok())
      return fail(kExitFailure, read.error().message);
    auto prepared = prepare(model, options_.request);
    if (!prepared.ok()) return fail(kExitUsage, prepared.error().message);
    const int exit_code = generate_text(**opened, *prepared);
    (*opened)->keep_costs();
    return exit_code;
  }

 private:
  Result<std::unique_ptr<OpenedModel>> open() {
    ProgressBar bar("loading", tells_ && stderr_is_terminal());
    OpenOptions open{.run = options_.run, .draft = options_.draft, .engine = settings_for_one()};
    open.one_request = true;
    open.vision = options_.shown.empty() ? VisionUse::none : VisionUse::needed;
    open.progress = [&](int64_t done, int64_t total) { bar.update(done, total); };
    open.tell = [&](const std::string& text) {
      bar.clear();
      if (tells_) remark(text);
    };
    return OpenedModel::open(open);
  }

  // Pictures and clips become part of the request.
  Status read_shown(const Vision* vision) {
    for (const auto& [file, clip] : options_.shown) {
      const std::filesystem::path path(file);
      if (clip) {
        TRY_ASSIGN(Clip frames, vision->read_clip(path, options_.video_frames));
        options_.request.media.emplace_back(std::make_shared<const Clip>(std::move(frames)));
      } else {
        TRY_ASSIGN(Patches patches, vision->read(path, options_.image_tokens));
        options_.request.media.emplace_back(std::make_shared<const Patches>(std::move(patches)));
      }
    }
    return Done{};
  }

  // A model without chat template is one that continues text. (One with a template that we cannot render is not.)
  void choose_format(const TextModel& model) {
    if (options_.request.raw || options_.chat || model.has_chat() || !model.chat_problem.empty()) return;
    options_.request.raw = true;
    if (tells_) remark("this model has no chat template: the prompt is continued as it is (as with --raw)");
  }

  int generate_text(OpenedModel& opened, const PreparedRequest& prepared) {
    catch_interrupts();
    ProgressBar bar("reading prompt", tells_ && stderr_is_terminal());
    std::error_code unwritten;
    bool ends_line = false;
    GenerateCallbacks callbacks;
    callbacks.on_prompt = [&](int32_t done) {
      const auto total = static_cast<int64_t>(prepared.request.prompt.size());
      done < total ? bar.update(done, total) : bar.clear();
      return !interrupted();
    };
    callbacks.on_text = [&](std::string_view text) {
      if (!options_.json) unwritten = write_text(text);
      ends_line = text.ends_with('\n');
      return !unwritten && !interrupted();
    };
    callbacks.on_origin = [&](TokenOrigin origin) { origin_ = origin; };
    const Result<GenerateResult> result = generate(opened.text(), opened.engine(), prepared, callbacks);
    bar.clear();
    if (!result.ok()) return fail(kExitFailure, result.error().message);
    if (options_.json) unwritten = write_out(json_of(*result, options_, opened.folder().string(), opened.drafting()));
    // Programs that read lines get a whole one.
    if (!options_.json && !unwritten && !ends_line && !stdout_is_terminal()) unwritten = write_out("\n");
    if (unwritten) return fail_to_write(unwritten);
    if (tells_) {
      tell(fmt::format("{}{}{}", options_.json ? "" : "\n\n", summary_of(*result, *options_.sampling.seed),
                       draft_summary(opened.drafting(), result->counters, written_per_ms(*result),
                                     static_cast<int32_t>(result->prompt_tokens))));
    }
    return interrupted() ? kExitInterrupted : kExitDone;
  }

  [[nodiscard]] std::error_code write_text(std::string_view text) const {
    return colours_ ? write_out(coloured(text, origin_)) : write_out(text);
  }

  GenerateOptions& options_;
  TokenOrigin origin_ = TokenOrigin::plain;
  bool tells_, colours_;
};

}  // namespace

void add_generate_command(const Command& program, Action& action) {
  const Command command = program.add_subcommand("generate", "Write text after a prompt");
  auto options = std::make_shared<GenerateOptions>();
  add_generate_options(command, *options);
  command->footer(kGenerateExamples);
  command->callback([options, command, &action] {
    order_shown_files(command, *options);
    action = [options] { return GenerateCommand(*options).run(); };
  });
}

}  // namespace paceline
