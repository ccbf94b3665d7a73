// A conversation that is being held: what was said so far, in the form in which clients send it, with its pictures
// inside. A file of it can be loaded again, or sent to a server as it is.
#pragma once

#include <boost/json/array.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "session/chat_parts.h"

namespace paceline {

struct SavedConversation;
Result<SavedConversation> read_conversation(std::string_view text);

class Conversation {
 public:
  [[nodiscard]] const boost::json::array& messages() const { return messages_; }
  // Questions that were asked and are in it.
  [[nodiscard]] size_t questions() const;

  // What the model is told before all else; "": nothing.
  [[nodiscard]] std::string system() const;
  void set_system(std::string_view text);

  // Pictures and clips stand before the text; of each the bytes are taken.
  void ask(std::string_view text, const std::vector<MediaFile>& shown = {});
  // thoughts: "" where there were none.
  void add_answer(std::string_view text, std::string_view thoughts);
  // The last question, where nothing has been answered to it; and the last answer. False: there is none.
  bool take_back_question();
  bool take_back_answer();
  // All but what the model is told before.
  void clear();

  // As the model's template wants it. An error names what is wrong with a message.
  [[nodiscard]] Result<ChatParts> parts(std::optional<bool> thinks) const;

  friend bool operator==(const Conversation&, const Conversation&) = default;

 private:
  friend Result<SavedConversation> read_conversation(std::string_view text);
  [[nodiscard]] bool ends_with(std::string_view role) const;

  boost::json::array messages_;
};

// What a file has.
struct SavedConversation {
  Conversation conversation;
  std::optional<uint64_t> seed;  // of all that was chosen
};

// A JSON object with a message on each line.
std::string written(const SavedConversation& saved);
// An error says what was expected and found. Fields of other programs are let be.
Result<SavedConversation> read_conversation(std::string_view text);

// A message as it is read: its role, its text, and how many pictures and clips are in it.
struct SpokenMessage {
  std::string role, text;
  int32_t media = 0;
};
SpokenMessage spoken(const boost::json::value& message);

}  // namespace paceline
