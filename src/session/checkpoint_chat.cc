#include "session/checkpoint_chat.h"

#include <fmt/format.h>

#include <boost/json/parse.hpp>
#include <exception>
#include <filesystem>
#include <new>

#include "session/chat_messages.h"
#include "session/chat_request.h"
#include "tokenizer/json_fields.h"
#include "tokenizer/packed_file.h"

namespace paceline {
namespace {

namespace json = boost::json;

Result<json::value> parse_config(const std::string& config_json) {
  json::error_code ec;
  json::value config;
  try {
    config = json::parse(config_json, ec);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& thrown) {
    return Error{fmt::format("tokenizer_config.json: could not be read: {}", thrown.what())};
  }
  if (ec) return Error{fmt::format("tokenizer_config.json: expected JSON, found {}", ec.message())};
  return config;
}

// [{"name": "default", "template": "..."}, {"name": "tool_use", ...}]
Result<CheckpointTemplates> read_named(const json::array& list) {
  std::optional<std::string> main, with_tools;
  for (size_t i = 0; i < list.size(); ++i) {
    TRY_ASSIGN(const TextJsonFields entry, TextJsonFields::of(&list[i], fmt::format("chat_template[{}]", i)));
    TRY_ASSIGN(const std::string_view name, entry.string("name"));
    TRY_ASSIGN(const std::string_view text, entry.string("template"));
    if (name == "default") main = std::string(text);
    if (name == "tool_use") with_tools = std::string(text);
  }
  if (!main) return Error{"chat_template: expected one named \"default\" in the list, found none"};
  return CheckpointTemplates{std::move(*main), std::move(with_tools)};
}

std::optional<std::string> token_text(const json::value& token) {
  const json::value* text = &token;
  if (token.is_object()) text = token.get_object().if_contains("content");
  if (text == nullptr || !text->is_string()) return std::nullopt;
  return std::string(text->get_string());
}

// The text of a list that has nothing else, a line each.
std::optional<std::string> text_of_parts(const json::array& parts) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    const json::value* piece = parts[i].is_object() ? parts[i].get_object().if_contains("text") : nullptr;
    if (piece == nullptr || !piece->is_string()) return std::nullopt;
    if (i > 0) text += '\n';
    text += std::string_view(piece->get_string());
  }
  return text;
}

// With texts for contents that are lists of them; none where that changes nothing or is not all.
std::optional<ChatRequest> with_plain_contents(const ChatRequest& request) {
  ChatRequest plain = request;
  bool changes = false;
  for (json::value& message : plain.messages) {
    json::value* content = message.is_object() ? message.get_object().if_contains("content") : nullptr;
    if (content == nullptr || !content->is_array()) continue;
    const auto text = text_of_parts(content->get_array());
    if (!text) return std::nullopt;
    *content = *text;
    changes = true;
  }
  return changes ? std::optional(std::move(plain)) : std::nullopt;
}

class CheckpointChat : public ChatTemplate {
 public:
  CheckpointChat(jinja::Template main, std::optional<jinja::Template> with_tools, json::object token_texts)
      : main_(std::move(main)), with_tools_(std::move(with_tools)), token_texts_(std::move(token_texts)) {}

  [[nodiscard]] Result<std::string> render(std::span<const ChatMessage> messages,
                                           const ChatOptions& options) const override {
    ChatRequest request;
    request.add_generation_prompt = options.add_generation_prompt;
    request.continue_final_message = options.continue_final_message;
    // Where nothing is said, the template decides.
    if (options.enable_thinking) request.variables["enable_thinking"] = true;
    for (const ChatMessage& message : messages) {
      json::object& made = request.messages.emplace_back(json::object()).get_object();
      made["role"] = message.role;
      made["content"] = message.content;
      if (!message.reasoning.empty()) set_thoughts(made, message.reasoning);
    }
    return render_request(request);
  }

  [[nodiscard]] Result<std::string> render_request(const ChatRequest& request) const override {
    const bool has_tools = request.tools.is_array() && !request.tools.get_array().empty();
    const jinja::Template& chosen = has_tools && with_tools_ ? *with_tools_ : main_;
    auto rendered = render_chat_request(chosen, request, {}, token_texts_);
    // Templates for text alone know no lists.
    if (const auto plain = rendered.ok() ? std::nullopt : with_plain_contents(request)) {
      auto again = render_chat_request(chosen, *plain, {}, token_texts_);
      if (again.ok()) rendered = std::move(again);
    }
    if (!rendered.ok()) return Error{"chat template, " + rendered.error().message};
    return std::move(rendered->text);
  }

 private:
  jinja::Template main_;
  std::optional<jinja::Template> with_tools_;
  json::object token_texts_;
};

Result<jinja::Template> parse_named(const std::string& text) {
  auto parsed = jinja::Template::parse(text);
  if (!parsed.ok()) return Error{"chat template, " + parsed.error().message};
  return parsed;
}

Result<std::optional<std::string>> read_if_there(const std::filesystem::path& path) {
  std::error_code ec;
  if (!std::filesystem::exists(path, ec)) return std::optional<std::string>();
  TRY_ASSIGN(std::string contents, read_packed_file(path.string()));
  return std::optional<std::string>(std::move(contents));
}

}  // namespace

Result<std::optional<CheckpointTemplates>> find_chat_templates(const std::optional<std::string>& template_file,
                                                               const std::optional<std::string>& config_json) {
  using Found = std::optional<CheckpointTemplates>;
  if (template_file) return Found(CheckpointTemplates{*template_file, std::nullopt});
  if (!config_json) return Found();
  TRY_ASSIGN(const json::value config, parse_config(*config_json));
  TRY_ASSIGN(const TextJsonFields fields, TextJsonFields::of(&config, "tokenizer_config.json"));
  if (fields.is_absent("chat_template")) return Found();
  if (fields.find("chat_template")->is_array()) {
    TRY_ASSIGN(CheckpointTemplates named, read_named(fields.find("chat_template")->get_array()));
    return Found(std::move(named));
  }
  TRY_ASSIGN(const std::string_view text, fields.string("chat_template"));
  return Found(CheckpointTemplates{std::string(text), std::nullopt});
}

Result<std::optional<CheckpointTemplates>> load_chat_templates(const std::string& folder) {
  TRY_ASSIGN(const auto template_file, read_if_there(std::filesystem::path(folder) / "chat_template.jinja"));
  TRY_ASSIGN(const auto config_json, read_if_there(std::filesystem::path(folder) / "tokenizer_config.json"));
  return find_chat_templates(template_file, config_json);
}

Result<json::object> read_token_texts(const std::optional<std::string>& config_json) {
  json::object texts;
  if (!config_json) return texts;
  TRY_ASSIGN(const json::value config, parse_config(*config_json));
  TRY_ASSIGN(const TextJsonFields fields, TextJsonFields::of(&config, "tokenizer_config.json"));
  const auto add = [&](const json::object& object) {
    for (const auto& field : object) {
      if (!std::string_view(field.key()).ends_with("_token")) continue;
      if (const auto text = token_text(field.value())) texts[field.key()] = *text;
    }
  };
  if (const json::value* extra = fields.find("extra_special_tokens"); extra != nullptr && extra->is_object())
    add(extra->get_object());
  add(fields.object());
  return texts;
}

Result<std::unique_ptr<ChatTemplate>> make_checkpoint_chat(const CheckpointTemplates& templates,
                                                           json::object token_texts) {
  TRY_ASSIGN(jinja::Template main, parse_named(templates.main));
  std::optional<jinja::Template> with_tools;
  if (templates.with_tools) {
    TRY_ASSIGN(jinja::Template parsed, parse_named(*templates.with_tools));
    with_tools = std::move(parsed);
  }
  return std::unique_ptr<ChatTemplate>(
      std::make_unique<CheckpointChat>(std::move(main), std::move(with_tools), std::move(token_texts)));
}

}  // namespace paceline
