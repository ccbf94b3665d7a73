// paceline chat: a conversation with a model, in a terminal or line by line from a pipe.
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "cli/chat_entry.h"
#include "cli/chat_screen.h"
#include "cli/chat_settings.h"
#include "cli/chat_talk.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/draft_options.h"
#include "cli/generate_options.h"
#include "cli/interrupt.h"
#include "cli/line_source.h"
#include "cli/progress.h"
#include "cli/state_folder.h"

namespace paceline {
namespace {

constexpr const char* kChatExamples = R"(
Examples:
  paceline chat
  paceline chat -m google/gemma-4-E2B-it --system "Answer in one line."
  paceline chat --load talk.json --seed 7
  printf 'What is a cat?\nAnd a dog?\n' | paceline chat --temp 0

In the chat, /help shows what can be typed: /system, /seed, /depth, /image, /save, /load and others. A line that ends in
\ goes on in the next, and so does all between """ and """. Ctrl-C stops an answer, Ctrl-D ends the chat. Where the model
had guesses checked, accepted ones are green and corrected ones red; /colours off, or NO_COLOR, leaves that out.
From a pipe, each line (or what is joined so) is a message, and answers alone go to stdout.
Exit codes: 0 done, 1 something failed, 2 the command line makes no sense.)";

struct ChatCommandOptions {
  RunOptions run;
  TalkTerms terms;
  DraftOptions draft;
  std::string system, load;
  std::optional<std::string> thinking;
  bool forgets = false, quiet = false, verbose = false;
};

// Memory for one conversation, whose pages are kept from answer to answer.
EngineSettings settings_for_talk() {
  EngineSettings settings;
  settings.kv_bytes = 0;
  return settings;
}

std::filesystem::path history_file() {
  const std::filesystem::path folder = state_folder();
  return folder.empty() ? folder : folder / "chat_history";
}

class ChatCommand {
 public:
  explicit ChatCommand(ChatCommandOptions& options)
      : options_(options),
        is_terminal_(stdin_is_terminal() && stdout_is_terminal()),
        tells_(!options.quiet && (options.verbose || is_terminal_)),
        screen_(is_terminal_, tells_) {}

  int run() {
    if (const Status status = check_options(); !status.ok()) return fail(kExitUsage, status.error().message);
    auto opened = open();
    if (!opened.ok()) return fail(kExitFailure, opened.error().message);
    const TextModel& model = (*opened)->text();
    if (!model.has_chat()) {
      return fail(kExitFailure, model.chat_problem.empty()
                                    ? "this model has no chat template; paceline generate --raw continues a text"
                                    : model.chat_problem);
    }
    ChatTalk talk(**opened, options_.terms);
    talk_ = &talk;
    talk.set_system(options_.system);
    if (!options_.load.empty()) {
      if (const Status status = talk.load(options_.load, settings_); !status.ok())
        return fail(kExitFailure, status.error().message);
    }
    screen_.say(
        fmt::format("{} · /help shows what can be typed, Ctrl-D ends", (*opened)->folder().filename().string()));
    hold();
    (*opened)->keep_costs();
    if (screen_.unwritten()) return fail_to_write(screen_.unwritten());
    return failed_ && !is_terminal_ ? kExitFailure : kExitDone;
  }

 private:
  Status check_options() {
    TRY(check_draft_options(options_.draft));
    TRY(complete_biases(options_.terms.sampling));
    settings_.seed = options_.terms.sampling.seed;
    settings_.temperature = options_.terms.sampling.temperature;
    if (options_.thinking) TRY(change_setting(ChatVerb::thinking, *options_.thinking, settings_));
    return Done{};
  }

  Result<std::unique_ptr<OpenedModel>> open() {
    ProgressBar bar("loading", tells_ && stderr_is_terminal());
    OpenOptions open{.run = options_.run, .draft = options_.draft, .engine = settings_for_talk()};
    open.one_request = true;
    open.progress = [&](int64_t done, int64_t total) { bar.update(done, total); };
    open.tell = [&](const std::string& text) {
      bar.clear();
      if (tells_) remark(text);
    };
    return OpenedModel::open(open);
  }

  // None: lines come as they come.
  [[nodiscard]] std::unique_ptr<LineSource> edited_lines() const {
    if (!is_terminal_) return nullptr;
    return make_edited_lines({options_.forgets ? std::filesystem::path() : history_file(), chat_command_names()});
  }

  // Until the end.
  void hold() {
    std::unique_ptr<LineSource> source = edited_lines();
    // Between an answer's end and the next prompt, too, Ctrl-C ends nothing. (Where no editor reads it as a key, it
    // ends the program at a prompt, as everywhere.)
    std::optional<HeldInterrupts> held;
    if (source != nullptr) held.emplace();
    if (source == nullptr) source = make_plain_lines(stdin_is_terminal());
    TypedLines typed;
    bool goes_on = true;
    while (goes_on && !screen_.unwritten()) {
      const LineSource::Read read = source->read(typed.is_open() ? "... " : ">>> ");
      if (read.kind == LineSource::Kind::dropped) {
        typed.drop();
        continue;
      }
      goes_on = read.kind == LineSource::Kind::line;
      const auto text = goes_on ? typed.push(read.text) : typed.finish();
      if (text && !take(*text)) goes_on = false;
    }
    // Ctrl-D leaves the cursor behind the prompt.
    if (is_terminal_) screen_.break_line();
  }

  // False: that was all.
  bool take(const TypedText& text) {
    forget_interrupts();
    const auto entry = read_chat_entry(text);
    if (!entry.ok()) {
      problem(entry.error().message);
      return true;
    }
    if (entry->verb == ChatVerb::quit) return false;
    if (entry->verb == ChatVerb::say) {
      if (entry->text.find_first_not_of(" \t\r\n") != std::string::npos) ask(&entry->text);
      return true;
    }
    if (const Status status = obey(*entry); !status.ok()) problem(status.error().message);
    return true;
  }

  Status obey(const ChatEntry& entry) {
    switch (entry.verb) {
      case ChatVerb::help: screen_.say(chat_help()); return Done{};
      case ChatVerb::system: change_system(entry.text); return Done{};
      case ChatVerb::image:
      case ChatVerb::video: return show(entry);
      case ChatVerb::save: return save(entry.text);
      case ChatVerb::load: return load(entry.text);
      case ChatVerb::show: screen_.show(talk_->conversation()); return Done{};
      case ChatVerb::again: ask(nullptr); return Done{};
      case ChatVerb::clear:
        talk_->clear();
        screen_.say("a new conversation");
        return Done{};
      default: break;
    }
    TRY_ASSIGN(const std::string now, change_setting(entry.verb, entry.text, settings_));
    screen_.say(now);
    return Done{};
  }

  void change_system(const std::string& text) {
    if (!text.empty()) talk_->set_system(text == "\"\"" ? "" : text);
    const std::string now = talk_->conversation().system();
    screen_.say(now.empty() ? "the model is told nothing before" : fmt::format("system: {}", now));
  }

  Status show(const ChatEntry& entry) {
    TRY(talk_->show(entry.text, entry.verb == ChatVerb::video));
    screen_.say(fmt::format("{} will be shown with what you say next", entry.text));
    return Done{};
  }

  Status save(const std::string& file) {
    TRY(talk_->save(file, settings_));
    screen_.say(fmt::format("saved: {}, {} questions", file, talk_->conversation().questions()));
    return Done{};
  }

  Status load(const std::string& file) {
    TRY(talk_->load(file, settings_));
    screen_.say(fmt::format("loaded: {}, {} questions; /show shows them", file, talk_->conversation().questions()));
    return Done{};
  }

  // No question: the last one again.
  void ask(const std::string* question) {
    std::optional<HeldInterrupts> held;
    if (is_terminal_) held.emplace();
    const bool traces = settings_.colours && screen_.shows_colours();
    AnswerCallbacks callbacks;
    callbacks.on_prompt = [](int32_t) { return !interrupted(); };
    callbacks.on_delta = [&](const OutputDelta& delta) { return screen_.write(delta, traces) && !interrupted(); };
    const Result<Answer> given = question != nullptr ? talk_->ask(*question, settings_, traces, callbacks)
                                                     : talk_->ask_again(settings_, traces, callbacks);
    if (given.ok()) {
      screen_.end_answer(*given, talk_->seed());
    } else {
      screen_.break_answer();
      problem(given.error().message);
    }
  }

  void problem(const std::string& text) {
    failed_ = true;
    screen_.say_problem(text);
  }

  ChatCommandOptions& options_;
  bool is_terminal_, tells_;
  bool failed_ = false;
  ChatScreen screen_;
  ChatSettings settings_;
  ChatTalk* talk_ = nullptr;
};

void add_chat_options(const Command& command, ChatCommandOptions& options) {
  constexpr const char* kTalk = "Conversation";
  command.add_option("--system", options.system, "What the model is told before all else")
      ->group(kTalk)
      ->type_name("TEXT");
  command.add_option("--load", options.load, "A conversation that /save wrote, to go on with")
      ->group(kTalk)
      ->type_name("FILE");
  command.add_option("--thinking", options.thinking, "Whether the model thinks first; default: as its template has it")
      ->group(kTalk)
      ->one_of({"on", "off"})
      ->type_name("on|off");
  command
      .add_option("--image-tokens", options.terms.image_tokens,
                  "Tokens that a picture may take; more see finer things. Default: what the model's files say")
      ->group(kTalk)
      ->one_of({70, 140, 280, 560, 1120})
      ->type_name("70|140|280|560|1120");
  command.add_flag("--no-history", options.forgets, "Neither read nor keep what was typed in earlier chats")
      ->group(kTalk);
  add_run_options(command, options.run);
  command.add_option("--ctx", options.terms.context, "Most tokens of a conversation; 0: as much as the model has")
      ->group("Model")
      ->range(0, 1 << 30)
      ->capture_default_str();
  add_sampling_options(command, options.terms.sampling);
  command.add_option("-n,--max-tokens", options.terms.max_tokens, "At most so many tokens of an answer; 0: what fits")
      ->group("Ending")
      ->range(0, 1 << 30)
      ->capture_default_str();
  add_draft_options(command, options.draft);
  const Option quiet = command.add_flag("--quiet", options.quiet, "Do not tell what answers took");
  quiet->group("Output");
  command.add_flag("--verbose", options.verbose, "Tell it on stderr, though nobody reads along")
      ->group("Output")
      ->excludes(quiet);
}

}  // namespace

void add_chat_command(const Command& program, Action& action) {
  const Command command = program.add_subcommand("chat", "Talk with a model in the terminal");
  auto options = std::make_shared<ChatCommandOptions>();
  add_chat_options(command, *options);
  command->footer(kChatExamples);
  command->callback([options, &action] { action = [options] { return ChatCommand(*options).run(); }; });
}

}  // namespace paceline
