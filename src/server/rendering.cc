#include "server/rendering.h"

#include <fmt/format.h>

#include <chrono>

#include "base/deadline.h"
#include "session/engine_request.h"

namespace paceline {

std::optional<std::string> render_within(const TextModel& model, ChatRequest& chat, const RequestLimits& limits,
                                         const char* field, FieldProblem& problem) {
  chat.render_time =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::duration<double>(limits.render_s));
  const Deadline deadline(chat.render_time);
  auto text = render_conversation(model, chat);
  if (text.ok()) return std::move(*text);
  FieldError error = bad_field(field, text.error().message);
  if (deadline.passed()) {
    error.message = fmt::format(
        "the conversation takes longer to be rendered than the {} s that this server gives it (its option "
        "--render-seconds)",
        limits.render_s);
  }
  problem.say(std::move(error));
  return std::nullopt;
}

}  // namespace paceline
