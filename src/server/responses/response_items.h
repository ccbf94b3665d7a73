// The items of a conversation as OpenAI's Responses have them, made into messages as templates read them.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "session/ask_fields.h"
#include "session/chat_messages.h"

namespace paceline::responses {

// How the model sees a tool of a namespace.
std::string joined_name(std::string_view space, std::string_view name);

struct ItemTerms {
  int32_t most = 0;  // items
  MediaTerms media = {};
  // An item that was made before, by its id; none: it is not known.
  std::function<std::optional<boost::json::value>(const std::string& id)> find_item = {};
};

// `instructions`: before all else; "": none. The last `own` items stand in the field `input`, those before them were
// kept.
Messages read_items(const boost::json::array& items, size_t own, std::string_view instructions, const ItemTerms& terms,
                    FieldProblem& problem);

}  // namespace paceline::responses
