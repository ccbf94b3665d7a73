// POST /v1/chat/completions: a conversation to be answered.
#pragma once

#include <boost/json/object.hpp>

#include "server/wire_ask.h"
#include "session/chat_parts.h"

namespace paceline {

struct ChatAsk : Ask, ChatParts {};

// What is wrong is said in `problem`; the result is of no use then.
ChatAsk read_chat(const boost::json::object& body, const RequestLimits& limits, FieldProblem& problem);

}  // namespace paceline
