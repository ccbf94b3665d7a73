// A small part of Ollama's routes, for tools that know no other: chat, generate, and what they ask before.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "server/api_error.h"
#include "server/served_model.h"
#include "server/wire.h"

namespace paceline::ollama {

bool is_route(std::string_view path);

// {"error": "…"}
boost::json::object error_object(const ApiError& error);

// POST /api/chat, or /api/generate.
std::unique_ptr<Wire> make_wire(bool chat);

// The answers of /api/tags, /api/ps and /api/show. `context`: most tokens.
boost::json::object list_models(const ServedModel& model);
boost::json::object show_model(const ServedModel& model, int32_t context);

}  // namespace paceline::ollama
