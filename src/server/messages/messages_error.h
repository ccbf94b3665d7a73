// Errors in the shape that Anthropic's clients read.
#pragma once

#include <boost/json/object.hpp>
#include <string_view>

#include "server/api_error.h"

namespace paceline::messages {

// Whether a path is of this family.
bool is_route(std::string_view path);

// {"type": "error", "error": {"type", "message"}, "request_id"}
boost::json::object error_object(const ApiError& error, std::string_view request_id);

}  // namespace paceline::messages
