#include "session/chat_request.h"

#include <string_view>

#include "base/utf8.h"

namespace paceline {
namespace {

namespace json = boost::json;

// Put behind the last message to see where it ends up. The blank at its end tells whether the template trims contents.
constexpr std::string_view kTag = "CONTINUE_FINAL_MESSAGE_TAG ";

// Marks where the last message ends; gives what it said.
Result<std::string> mark_final_message(json::array& messages) {
  json::value* content =
      messages.empty() || !messages.back().is_object() ? nullptr : messages.back().get_object().if_contains("content");
  if (content != nullptr && content->is_array()) {
    json::array& parts = content->get_array();
    content = nullptr;
    for (size_t i = parts.size(); i > 0 && content == nullptr; --i) {
      if (parts[i - 1].is_object()) content = parts[i - 1].get_object().if_contains("text");
    }
  }
  if (content == nullptr || !content->is_string())
    return Error{"continue_final_message: expected text in the last message, found none"};
  const std::string said(content->get_string());
  content->get_string() += kTag;
  return said;
}

Status cut_at_mark(std::string_view said, std::string& text) {
  const std::string_view bare_tag = kTag.substr(0, kTag.size() - 1);
  const size_t at = text.rfind(bare_tag);
  if (at == std::string::npos || text.find(strip_like_python(said)) == std::string::npos) {
    return Error{"continue_final_message: the template does not show the last message as it is"};
  }
  const bool keeps_blanks = std::string_view(text).substr(at).starts_with(kTag);
  text.resize(at);
  if (!keeps_blanks) text.resize(rstrip_like_python(text).size());
  return Done{};
}

}  // namespace

Result<jinja::Rendering> render_chat_request(const jinja::Template& chat_template, const ChatRequest& request,
                                             const jinja::RenderOptions& options, const json::object& defaults) {
  if (request.continue_final_message && request.add_generation_prompt) {
    return Error{"continue_final_message and add_generation_prompt: expected one of them, found both"};
  }
  json::object variables = request.variables;
  for (const auto& other : defaults) {
    if (!variables.contains(other.key())) variables[other.key()] = other.value();
  }
  json::array messages = request.messages;
  std::string said;
  if (request.continue_final_message) {
    TRY_ASSIGN(said, mark_final_message(messages));
  }
  variables["messages"] = std::move(messages);
  variables["tools"] = request.tools;
  variables["documents"] = request.documents;
  variables["add_generation_prompt"] = request.add_generation_prompt;
  jinja::RenderOptions timed = options;
  timed.limits.time = request.render_time;
  TRY_ASSIGN(jinja::Rendering rendering, chat_template.render(variables, timed));
  if (request.continue_final_message) TRY(cut_at_mark(said, rendering.text));
  return rendering;
}

}  // namespace paceline
