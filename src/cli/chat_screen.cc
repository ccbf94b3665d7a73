#include "cli/chat_screen.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units_text.h"
#include "cli/console.h"
#include "cli/interrupt.h"
#include "cli/origin_colour.h"

namespace paceline {
namespace {

std::string taken_text(const Answer& answer, uint64_t seed) {
  const Usage& usage = answer.usage;
  const double timed = static_cast<double>(std::max<int64_t>(usage.completion_tokens - 1, 0));
  std::string text = fmt::format("{} tokens", usage.completion_tokens);
  if (usage.decode_ms > 0 && timed > 0) text += fmt::format(", {:.1f}/s", timed * 1000 / usage.decode_ms);
  if (usage.speculation.rounds > 0) text += fmt::format(" · {:.2f} per check", usage.speculation.tokens_per_round());
  text += fmt::format(" · {} of {} tokens before were known, the rest took {}", usage.cached_tokens,
                      usage.prompt_tokens, time_text(usage.prompt_ms));
  if (answer.end == OutputEnd::cancelled) text += " · stopped";
  if (answer.end == OutputEnd::length) text += " · cut at --max-tokens";
  if (answer.end == OutputEnd::context) text += " · the context is full: /clear begins anew";
  return fmt::format("{} · seed {}", text, seed);
}

}  // namespace

ChatScreen::ChatScreen(bool is_terminal, bool tells)
    : is_terminal_(is_terminal), tells_(tells), shows_colours_(is_terminal && stdout_shows_colours()) {}

bool ChatScreen::put(std::string_view text) {
  if (unwritten_) return false;
  const std::error_code failed = write_out(text);
  if (!text.empty()) ends_line_ = !failed && text.ends_with('\n');
  // Ctrl-C ends what is being shown, and not the chat.
  if (failed != std::errc::interrupted) unwritten_ = failed;
  return !failed;
}

void ChatScreen::say(std::string_view text) {
  if (is_terminal_) {
    const std::string line = without_controls(text) + "\n";
    (void)put(shows_colours_ ? dimmed(line) : line);
  }
}

void ChatScreen::say_problem(std::string_view text) { remark(without_controls(text)); }

void ChatScreen::show(const Conversation& conversation) {
  if (conversation.messages().empty()) say("nothing has been said yet");
  for (const auto& message : conversation.messages()) {
    const SpokenMessage said = spoken(message);
    const std::string shown = said.media > 0 ? fmt::format(" ({} shown)", said.media) : "";
    if (!put(without_controls(fmt::format("{}{}: {}\n", said.role, shown, said.text))) || interrupted())
      return break_answer();
  }
}

bool ChatScreen::write_thought(std::string_view text) {
  // In a pipe is the answer and nothing else.
  if (!is_terminal_) return true;
  thinks_ = true;
  const std::string shown = without_controls(text);
  return put(shows_colours_ ? dimmed(shown) : shown);
}

bool ChatScreen::write_text(const OutputDelta& delta, bool by_origin) {
  if (!is_terminal_) return put(delta.text);
  if (thinks_) (void)put(ends_line_ ? "\n" : "\n\n");
  thinks_ = false;
  if (!by_origin || !shows_colours_) return put(without_controls(delta.text));
  std::string_view rest = delta.text;
  for (const TextSpan& span : delta.spans) {
    const std::string_view piece = rest.substr(0, span.bytes);
    rest.remove_prefix(piece.size());
    (void)put(coloured(without_controls(piece), span.origin));
  }
  return put(without_controls(rest));
}

bool ChatScreen::write(const OutputDelta& delta, bool by_origin) {
  if (delta.kind == OutputDelta::Kind::reasoning) return write_thought(delta.text);
  if (delta.kind == OutputDelta::Kind::content) return write_text(delta, by_origin);
  return true;
}

void ChatScreen::break_answer() {
  thinks_ = false;
  if (!ends_line_) (void)put("\n");
}

void ChatScreen::end_answer(const Answer& answer, uint64_t seed) {
  break_answer();
  const std::string taken = taken_text(answer, seed) + "\n";
  if (tells_) tell(shows_colours_ ? dimmed(taken) : taken);
}

}  // namespace paceline
