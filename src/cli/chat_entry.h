// What is typed into a chat: lines made into messages and commands.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace paceline {

// Lines that belong together: those that end in a backslash with the next, and all between two """.
struct TypedText {
  std::string text;
  bool is_quoted = false;  // between """: never a command
};

class TypedLines {
 public:
  // A line without its end. None: there is more to come.
  std::optional<TypedText> push(std::string_view line);
  [[nodiscard]] bool is_open() const { return state_ != State::closed; }
  // No more lines come: what there is of an open text. None: nothing is.
  std::optional<TypedText> finish();
  // Forgets what was begun.
  void drop();

 private:
  enum class State : uint8_t { closed, continued, quoted };
  TypedText take(bool is_quoted);

  State state_ = State::closed;
  std::string text_;
};

enum class ChatVerb : uint8_t {
  say,  // not a command: the text is for the model
  help,
  system,
  seed,
  temperature,
  depth,
  thinking,
  colours,
  image,
  video,
  save,
  load,
  show,
  again,
  clear,
  quit,
};

struct ChatEntry {
  ChatVerb verb = ChatVerb::say;
  std::string text;  // what is said, or what stands behind the command
};

// "/seed 7" is a command, "//seed" says "/seed". An error where no command is called so, or something is missing.
Result<ChatEntry> read_chat_entry(const TypedText& typed);

// "/seed" and so on, in the order of help.
std::vector<std::string> chat_command_names();
std::string chat_help();

}  // namespace paceline
