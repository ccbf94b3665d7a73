#include "api/chat_ask.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <limits>
#include <string>
#include <string_view>

#include "base/utf8.h"

namespace paceline::api {
namespace {

namespace json = boost::json;

constexpr const char* kVariables = "variables_json";

// NULL: nothing was said.
json::value read_text(const char* text, const char* what, FieldProblem& problem) {
  if (text == nullptr) return nullptr;
  return parse_json(text, what, problem).value_or(nullptr);
}

json::array read_pairs(std::span<const paceline_message> pairs, FieldProblem& problem) {
  json::array messages;
  for (size_t i = 0; i < pairs.size(); ++i) {
    if (pairs[i].role == nullptr || pairs[i].content == nullptr) {
      problem.say(bad_field("messages", fmt::format("messages[{}] must have a role and a content, not NULL", i)));
      break;
    }
    messages.push_back({{"role", with_invalid_utf8_replaced(pairs[i].role)},
                        {"content", with_invalid_utf8_replaced(pairs[i].content)}});
  }
  return messages;
}

json::value read_messages(const paceline_chat& chat, FieldProblem& problem) {
  if (chat.messages_json != nullptr && chat.messages != nullptr) {
    problem.say(bad_field("messages", "a chat has messages or messages_json, not both"));
  }
  if (chat.messages_json != nullptr) return read_text(chat.messages_json, "messages_json", problem);
  if (chat.messages == nullptr) return nullptr;
  return read_pairs({chat.messages, chat.message_count}, problem);
}

bool is_part(const json::value& part, std::string_view type) {
  if (!part.is_object()) return false;
  const json::value* found = part.get_object().if_contains("type");
  return found != nullptr && found->is_string() && found->get_string() == type;
}

bool has_place(const json::array& messages, std::string_view type) {
  for (const json::value& message : messages) {
    const json::value* content = message.is_object() ? message.get_object().if_contains("content") : nullptr;
    if (content == nullptr || !content->is_array()) continue;
    for (const json::value& part : content->get_array()) {
      if (is_part(part, type)) return true;
    }
  }
  return false;
}

// Before what the last message says.
void add_places(json::array& messages, std::string_view type, int32_t count) {
  if (count == 0 || messages.empty() || has_place(messages, type) || !messages.back().is_object()) return;
  json::value& content = messages.back().get_object()["content"];
  json::array parts;
  for (int32_t i = 0; i < count; ++i) parts.push_back(json::object{{"type", type}});
  if (content.is_array()) {
    for (json::value& part : content.get_array()) parts.push_back(std::move(part));
  } else if (content.is_string()) {
    parts.push_back({{"type", "text"}, {"text", content.get_string()}});
  }
  content = std::move(parts);
}

json::value choice_of(const char* word) {
  if (word == nullptr) return nullptr;
  const std::string_view said(word);
  if (said == "auto" || said == "none" || said == "required") return json::value(said);
  return {{"type", "function"}, {"function", {{"name", with_invalid_utf8_replaced(said)}}}};
}

json::value variables_of(const paceline_chat& chat, FieldProblem& problem) {
  json::value variables = read_text(chat.variables_json, "variables_json", problem);
  if (chat.thinking < 0) return variables;
  if (variables.is_null()) variables = json::object();
  if (variables.is_object()) variables.get_object()["enable_thinking"] = chat.thinking != 0;
  return variables;
}

// As if it had come over a wire: one reader for all who ask.
json::object body_of(const paceline_chat& chat, const BesideChat& beside, FieldProblem& problem) {
  json::object body;
  json::value messages = read_messages(chat, problem);
  if (messages.is_array()) {
    add_places(messages.get_array(), "video", beside.clips);
    add_places(messages.get_array(), "image", beside.pictures);
  }
  body["messages"] = std::move(messages);
  body["tools"] = read_text(chat.tools_json, "tools_json", problem);
  body["tool_choice"] = choice_of(beside.tool_choice);
  body["parallel_tool_calls"] = !beside.one_call;
  body["response_format"] = read_text(beside.response_format_json, "response_format_json", problem);
  body[kVariables] = variables_of(chat, problem);
  return body;
}

}  // namespace

ChatParts read_chat(const paceline_chat& chat, const BesideChat& beside, FieldProblem& problem) {
  constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
  if (chat.thinking < -1 || chat.thinking > 1) {
    problem.say(bad_field("thinking", fmt::format("thinking must be -1, 0 or 1, not {}", chat.thinking)));
  }
  const json::object body = body_of(chat, beside, problem);
  AskFields fields(body, "", problem);
  const ChatTerms terms{kMost, {kMost, kMost, true}, kVariables};
  ChatParts parts = read_chat_parts(fields, terms);
  parts.picture_tokens = beside.picture_tokens;
  parts.chat.continue_final_message = chat.open_end != 0;
  parts.chat.add_generation_prompt = chat.open_end == 0;
  return parts;
}

}  // namespace paceline::api
