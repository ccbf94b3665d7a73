// POST /v1/chat/completions: a conversation to be answered.
#pragma once

#include <boost/json/object.hpp>

#include "server/wire_ask.h"
#include "session/chat_parts.h"

namespace paceline {

struct ChatAsk : Ask, ChatParts {};

// Media may stand at one of the hosts that the operator lists; the limits outlive it.
MediaTerms media_terms(const RequestLimits& limits);

// What is wrong is said in `problem`; the result is of no use then.
ChatAsk read_chat(const boost::json::object& body, const RequestLimits& limits, FieldProblem& problem);

}  // namespace paceline
