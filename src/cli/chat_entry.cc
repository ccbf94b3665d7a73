#include "cli/chat_entry.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "cli/nearest_word.h"

namespace paceline {
namespace {

constexpr std::string_view kQuotes = R"(""")";
constexpr std::string_view kBlanks = " \t\r";

// What stands behind a command.
enum class Behind : uint8_t { nothing, perhaps, something };

struct ChatWord {
  std::string_view name;
  ChatVerb verb;
  Behind behind;
  std::string_view argument, help;
};

constexpr std::array kWords = {
    ChatWord{"/help", ChatVerb::help, Behind::nothing, "", "what can be typed"},
    ChatWord{"/system", ChatVerb::system, Behind::perhaps, "[TEXT]",
             "what the model is told before all else; \"\" takes it away"},
    ChatWord{"/seed", ChatVerb::seed, Behind::perhaps, "[N|random]", "same seed and conversation, same answer"},
    ChatWord{"/temp", ChatVerb::temperature, Behind::perhaps, "[X|model]", "randomness; 0 takes the likeliest token"},
    ChatWord{"/depth", ChatVerb::depth, Behind::perhaps, "[N|auto]", "most guesses per check; never changes the text"},
    ChatWord{"/thinking", ChatVerb::thinking, Behind::perhaps, "[on|off|model]", "whether the model thinks first"},
    ChatWord{"/colours", ChatVerb::colours, Behind::perhaps, "[on|off]", "accepted guesses green, corrected ones red"},
    ChatWord{"/image", ChatVerb::image, Behind::something, "FILE", "a picture, shown with what is said next"},
    ChatWord{"/video", ChatVerb::video, Behind::something, "FILE", "likewise a clip"},
    ChatWord{"/save", ChatVerb::save, Behind::something, "FILE", "the conversation as JSON, with its pictures"},
    ChatWord{"/load", ChatVerb::load, Behind::something, "FILE", "one that was saved, in place of this one"},
    ChatWord{"/show", ChatVerb::show, Behind::nothing, "", "the conversation so far"},
    ChatWord{"/again", ChatVerb::again, Behind::nothing, "", "another answer to the last question"},
    ChatWord{"/clear", ChatVerb::clear, Behind::nothing, "", "a new conversation; the system text stays"},
    ChatWord{"/quit", ChatVerb::quit, Behind::nothing, "", "the end, as Ctrl-D; /exit is the same"},
    ChatWord{"/exit", ChatVerb::quit, Behind::nothing, "", ""},
};

std::string_view without_blanks(std::string_view text) {
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return "";
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

bool is_continued(std::string_view line) {
  const size_t last = line.find_last_not_of('\\');
  const size_t slashes = line.size() - (last == std::string_view::npos ? 0 : last + 1);
  return slashes % 2 == 1;
}

}  // namespace

TypedText TypedLines::take(bool is_quoted) {
  state_ = State::closed;
  return {std::exchange(text_, {}), is_quoted};
}

std::optional<TypedText> TypedLines::push(std::string_view line) {
  if (state_ == State::closed && without_blanks(line).starts_with(kQuotes)) {
    line = without_blanks(line).substr(kQuotes.size());
    state_ = State::quoted;
    // Quotes with nothing behind them stand on a line of their own.
    if (line.empty()) return std::nullopt;
  }
  if (state_ == State::quoted) {
    const std::string_view bare = line.substr(0, line.find_last_not_of(kBlanks) + 1);
    const bool ends = bare.ends_with(kQuotes);
    text_ += ends ? bare.substr(0, bare.size() - kQuotes.size()) : line;
    if (!ends) {
      text_ += '\n';
      return std::nullopt;
    }
    if (text_.ends_with('\n')) text_.pop_back();
    return take(true);
  }
  if (is_continued(line)) {
    text_.append(line.substr(0, line.size() - 1)) += '\n';
    state_ = State::continued;
    return std::nullopt;
  }
  text_ += line;
  return take(false);
}

std::optional<TypedText> TypedLines::finish() {
  if (!is_open()) return std::nullopt;
  if (text_.ends_with('\n')) text_.pop_back();
  return take(state_ == State::quoted);
}

void TypedLines::drop() { (void)take(false); }

Result<ChatEntry> read_chat_entry(const TypedText& typed) {
  if (typed.is_quoted) return ChatEntry{ChatVerb::say, typed.text};
  const std::string_view line = without_blanks(typed.text);
  if (!line.starts_with('/')) return ChatEntry{ChatVerb::say, typed.text};
  if (line.starts_with("//")) return ChatEntry{ChatVerb::say, std::string(line.substr(1))};
  const std::string_view name = line.substr(0, line.find_first_of(" \t\r\n"));
  const std::string_view argument = without_blanks(line.substr(name.size()));
  for (const ChatWord& word : kWords) {
    if (word.name != name) continue;
    if (word.behind == Behind::something && argument.empty())
      return Error{fmt::format("{0} wants more: {0} {1}, {2}", word.name, word.argument, word.help)};
    if (word.behind == Behind::nothing && !argument.empty())
      return Error{fmt::format("{} takes nothing behind it, found {}", word.name, argument)};
    return ChatEntry{word.verb, std::string(argument)};
  }
  const std::string meant = nearest_word(name, chat_command_names());
  return Error{fmt::format("no command is called {}: {} (a message that begins with / is typed with //)", name,
                           meant.empty() ? "/help shows them" : fmt::format("did you mean {}?", meant))};
}

std::vector<std::string> chat_command_names() {
  std::vector<std::string> names;
  for (const ChatWord& word : kWords) names.emplace_back(word.name);
  return names;
}

std::string chat_help() {
  std::string text;
  for (const ChatWord& word : kWords) {
    if (!word.help.empty())
      text += fmt::format("  {:<27}{}\n", fmt::format("{} {}", word.name, word.argument), word.help);
  }
  return text +
         "A line that ends in \\ goes on in the next, and so does all between \"\"\" and \"\"\".\n"
         "Ctrl-C stops an answer or drops a line, Ctrl-D ends; what was typed before comes back with the arrow keys.\n";
}

}  // namespace paceline
