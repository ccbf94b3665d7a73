// POST /v1/chat/completions: a conversation to be answered.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "server/wire_ask.h"
#include "server/wire_messages.h"
#include "session/chat_request.h"

namespace paceline {

struct ChatAsk : Ask {
  ChatRequest chat;                     // as templates want it: arguments of calls are objects, pictures are places
  std::vector<MediaFile> media;         // pictures and clips, in the order of their places
  int32_t picture_tokens = 0;           // soft tokens that each picture may become; 0: what the model's files say
  bool reads_calls = false;             // tools were given, and may be called
  std::vector<std::string> tool_names;  // of those
};

// What is wrong is said in `problem`; the result is of no use then.
ChatAsk read_chat(const boost::json::object& body, const RequestLimits& limits, WireProblem& problem);

}  // namespace paceline
