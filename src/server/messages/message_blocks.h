// A conversation in the blocks that Anthropic's clients write, made into messages as templates read them.
#pragma once

#include <boost/json/array.hpp>
#include <cstdint>

#include "session/ask_fields.h"
#include "session/chat_messages.h"

namespace paceline::messages {

struct Conversation {
  Messages made;
  bool is_open = false;  // the last message is the assistant's, and goes on
};

// The fields system and messages; at most so many messages.
Conversation read_conversation(AskFields& body, int32_t most, const MediaTerms& terms);

}  // namespace paceline::messages
