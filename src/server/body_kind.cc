#include "server/body_kind.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <functional>
#include <span>
#include <string_view>

namespace paceline {
namespace {

namespace json = boost::json;
using Names = std::span<const std::string_view>;

constexpr std::string_view kMessagesFields[] = {"system", "thinking", "stop_sequences", "output_config"};
constexpr std::string_view kMessagesBlocks[] = {"tool_use",          "tool_result", "thinking",
                                                "redacted_thinking", "document",    "search_result"};
constexpr std::string_view kOllamaFields[] = {"options", "keep_alive", "think", "raw"};

bool has_any(const json::object& object, Names names) {
  return std::any_of(names.begin(), names.end(), [&](std::string_view name) { return object.contains(name); });
}

// Whether one of the objects in the list is such.
bool any_in(const json::object& body, std::string_view name, const std::function<bool(const json::object&)>& is_one) {
  const json::value* list = body.if_contains(name);
  if (list == nullptr || !list->is_array()) return false;
  return std::any_of(list->get_array().begin(), list->get_array().end(),
                     [&](const json::value& each) { return each.is_object() && is_one(each.get_object()); });
}

bool is_messages_block(const json::object& block) {
  const json::value* type = block.if_contains("type");
  if (type == nullptr || !type->is_string()) return false;
  const std::string_view name = type->get_string();
  const bool is_known =
      std::find(std::begin(kMessagesBlocks), std::end(kMessagesBlocks), name) != std::end(kMessagesBlocks);
  return is_known || (name == "image" && block.contains("source"));
}

bool is_of_messages(const json::object& body) {
  return has_any(body, kMessagesFields) ||
         any_in(body, "tools", [](const json::object& tool) { return tool.contains("input_schema"); }) ||
         any_in(body, "messages", [](const json::object& one) { return any_in(one, "content", is_messages_block); });
}

// A call's arguments are text elsewhere.
bool has_bare_arguments(const json::object& call) {
  const json::value* function = call.if_contains("function");
  const json::value* arguments =
      function != nullptr && function->is_object() ? function->get_object().if_contains("arguments") : nullptr;
  return arguments != nullptr && arguments->is_object();
}

bool is_of_ollama(const json::object& body) {
  return has_any(body, kOllamaFields) || any_in(body, "messages", [](const json::object& one) {
           return one.contains("images") || one.contains("tool_name") || any_in(one, "tool_calls", has_bare_arguments);
         });
}

}  // namespace

BodyKind kind_of_body(const json::object& body) {
  if (body.contains("input")) return BodyKind::responses;
  if (body.contains("messages")) {
    if (is_of_ollama(body)) return BodyKind::ollama_chat;
    return is_of_messages(body) ? BodyKind::messages : BodyKind::chat;
  }
  if (!body.contains("prompt")) return BodyKind::chat;
  return is_of_ollama(body) || body.contains("system") ? BodyKind::ollama_prompt : BodyKind::completion;
}

}  // namespace paceline
