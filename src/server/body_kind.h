// Which wire a body is of, where the route does not say it.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>

namespace paceline {

enum class BodyKind : uint8_t { chat, completion, responses, messages, ollama_chat, ollama_prompt };

// By fields that only one of them has; where there are none, OpenAI's chat or completions.
BodyKind kind_of_body(const boost::json::object& body);

}  // namespace paceline
