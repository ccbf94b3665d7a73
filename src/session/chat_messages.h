// The messages of a conversation as clients send them, made into what chat templates read.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <string_view>
#include <vector>

#include "session/ask_fields.h"
#include "session/message_media.h"

namespace paceline {

struct Messages {
  boost::json::array for_template;
  std::vector<MediaFile> media;  // in the order of their places
};

// What a message says: the parts, or where all of them are text, the one text. How a text was cut into parts is
// nobody's wish, and must not be seen in a prompt.
boost::json::value content_of(boost::json::array parts);

// What was thought before a message, under both names that templates and clients know.
void set_thoughts(boost::json::object& message, std::string_view thoughts);

// A call, as a message of the assistant has it.
boost::json::object call_object(std::string_view id, std::string_view name, boost::json::object arguments);

// The field's list of messages, with one at least and at most so many. Null: the problem has been said.
const boost::json::array* message_list(AskFields& body, std::string_view name, int32_t most);

// At most so many messages.
Messages read_messages(AskFields& body, int32_t most, const MediaTerms& terms);

}  // namespace paceline
