// A conversation written down by the model's template, in no more time than an operator gives it.
#pragma once

#include <optional>
#include <string>

#include "server/settings.h"
#include "session/chat_request.h"
#include "session/field_problem.h"
#include "session/text_model.h"

namespace paceline {

// None: the problem has been said. The conversation is told its time, and stays as it is otherwise. `field`: that it
// stands in.
std::optional<std::string> render_within(const TextModel& model, ChatRequest& chat, const RequestLimits& limits,
                                         const char* field, FieldProblem& problem);

}  // namespace paceline
