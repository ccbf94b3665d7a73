// What a chat shows: answers as they are written, remarks, what answers took. On a terminal with colours, in a pipe the
// answers alone.
#pragma once

#include <string>
#include <string_view>
#include <system_error>

#include "session/answer.h"
#include "session/conversation.h"

namespace paceline {

class ChatScreen {
 public:
  // is_terminal: somebody reads along. tells: what answers took is told, too.
  ChatScreen(bool is_terminal, bool tells);

  [[nodiscard]] bool shows_colours() const { return shows_colours_; }
  // Something to be read by whoever types.
  void say(std::string_view text);
  void say_problem(std::string_view text);
  void show(const Conversation& conversation);

  // A piece of an answer. by_origin: coloured by who wrote it. False: it cannot be written any more.
  bool write(const OutputDelta& delta, bool by_origin);
  void end_answer(const Answer& answer, uint64_t seed);
  // What was written before, an answer that broke off too, ends with its line.
  void break_answer();
  // The cursor stands behind a prompt.
  void break_line() { (void)put("\n"); }
  [[nodiscard]] const std::error_code& unwritten() const { return unwritten_; }

 private:
  bool put(std::string_view text);
  bool write_thought(std::string_view text);
  bool write_text(const OutputDelta& delta, bool by_origin);

  bool is_terminal_, tells_, shows_colours_;
  bool thinks_ = false, ends_line_ = true;  // as it stands
  std::error_code unwritten_;
};

}  // namespace paceline
