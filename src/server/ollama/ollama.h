// A small part of Ollama's routes, for tools that know no other: chat, generate, and what they ask before.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/api_error.h"
#include "server/model_shelf.h"
#include "server/wire.h"

namespace paceline::ollama {

bool is_route(std::string_view path);

// {"error": "…"}
boost::json::object error_object(const ApiError& error);

// POST /api/chat, or /api/generate.
std::unique_ptr<Wire> make_wire(bool chat);

// The answers of /api/tags, /api/ps and /api/show. `context`: most tokens.
boost::json::object list_models(const std::vector<ModelView>& views, bool only_loaded);
boost::json::object show_model(const ModelView& view, int32_t context);
// Which model a body asks for; "": it does not say.
std::string asked_model(std::string_view body);

}  // namespace paceline::ollama
