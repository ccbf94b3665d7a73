#include "session/chat_parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "grammar/documents.h"
#include "media/patches.h"

namespace paceline {
namespace {

namespace json = boost::json;

constexpr size_t kMaxTools = 256;
// Calls of one answer, where it may have several.
constexpr int kMaxParallelCalls = 8;

// Of the tools, as grammars and as templates want them.
struct Tools {
  std::vector<grammar::ToolSchema> schemas;
  json::array for_template;
};

void read_tool(AskFields& tool, Tools& tools) {
  const std::string type = tool.string("type").value_or("function");
  if (type != "function") tool.problem().say(unsupported(tool.path("type"), "only tools of type function are known"));
  const json::object* function = tool.object("function");
  if (function == nullptr) return tool.missing("function", "an object with a name");
  AskFields fields(*function, tool.path("function"), tool.problem());
  const auto name = fields.string("name", 256);
  if (!name || name->empty()) return fields.missing("name", "a string");
  // Also where no call is demanded: templates write it down as it is.
  if (const Status good = grammar::check_tool_name(*name); !good.ok())
    return tool.problem().say(bad_field(fields.path("name"), good.error().message));
  const auto description = fields.string("description");
  const json::object* parameters = fields.object("parameters");
  fields.ignore({"strict"});
  fields.finish();
  tool.finish();

  json::object made{{"name", *name}, {"description", description.value_or("")}};
  if (parameters != nullptr) {
    json::object schema = *parameters;
    // Templates close the declaration only behind a type.
    if (!schema.empty() && !schema.contains("type")) schema["type"] = "object";
    made["parameters"] = schema;
    tools.schemas.push_back({*name, std::move(schema)});
  } else {
    tools.schemas.push_back({*name, nullptr});
  }
  tools.for_template.push_back({{"type", "function"}, {"function", std::move(made)}});
}

Tools read_tools(AskFields& body) {
  Tools tools;
  const json::array* array = body.array("tools");
  if (array == nullptr) return tools;
  if (array->size() > kMaxTools) {
    body.problem().say(bad_field("tools", fmt::format("{} tools; at most {} are taken", array->size(), kMaxTools)));
    return tools;
  }
  for (size_t i = 0; i < array->size() && body.problem().none(); ++i) {
    const std::string place = fmt::format("tools[{}]", i);
    if (!(*array)[i].is_object()) {
      body.problem().say(bad_field(place, fmt::format("{} must be an object", place)));
      break;
    }
    AskFields tool((*array)[i].get_object(), place, body.problem());
    read_tool(tool, tools);
  }
  return tools;
}

// {"type": "function", "function": {"name": "x"}}
std::optional<std::string> named_choice(AskFields& body, const json::object& choice) {
  AskFields fields(choice, "tool_choice", body.problem());
  if (fields.string("type").value_or("") != "function") {
    body.problem().say(bad_field("tool_choice.type", "tool_choice.type must be function"));
    return std::nullopt;
  }
  const json::object* function = fields.object("function");
  if (function == nullptr) {
    fields.missing("function", "an object with a name");
    return std::nullopt;
  }
  AskFields inner(*function, "tool_choice.function", body.problem());
  const auto name = inner.string("name");
  if (!name) inner.missing("name", "the name of one of the tools");
  return name;
}

// none, auto, required, or one tool by its name.
void read_tool_choice(AskFields& body, Tools tools, ChatParts& parts) {
  const bool parallel = body.boolean("parallel_tool_calls").value_or(true);
  const json::value* choice = body.any("tool_choice");
  const std::string word = choice != nullptr && choice->is_string() ? std::string(choice->get_string()) : "";
  parts.reads_calls = !tools.schemas.empty() && word != "none";
  if (parts.reads_calls) {
    parts.chat.tools = std::move(tools.for_template);
    for (const auto& tool : tools.schemas) parts.tools.push_back(callable_tool(tool));
  }
  if (choice == nullptr || word == "none" || word == "auto") return;
  if (!choice->is_object() && word != "required") {
    return body.wrong("tool_choice", "none, auto, required or a function's name in an object", *choice);
  }
  if (tools.schemas.empty()) {
    return body.problem().say(bad_field("tool_choice", "tool_choice asks for a call, and there are no tools"));
  }
  parts.form = {.kind = OutputForm::Kind::tool_calls, .max_calls = parallel ? kMaxParallelCalls : 1};
  if (word == "required") {
    parts.form->tools = std::move(tools.schemas);
    return;
  }
  const auto name = named_choice(body, choice->get_object());
  if (!name) return;
  const auto found =
      std::find_if(tools.schemas.begin(), tools.schemas.end(), [&](const auto& tool) { return tool.name == *name; });
  if (found == tools.schemas.end()) {
    return body.problem().say(
        bad_field("tool_choice.function.name", "tool_choice.function.name must be the name of one of the tools"));
  }
  parts.form->max_calls = 1;
  parts.form->tools = {*found};
}

// {"type": "json_schema", "json_schema": {"name": "x", "schema": {...}}}
void read_schema(AskFields& format, ChatParts& parts) {
  const json::object* holder = format.object("json_schema");
  if (holder == nullptr) return format.missing("json_schema", "an object with a schema");
  AskFields fields(*holder, format.path("json_schema"), format.problem());
  fields.ignore({"name", "description", "strict"});
  const json::value* schema = fields.any("schema");
  if (schema == nullptr) return fields.missing("schema", "a JSON Schema");
  fields.finish();
  parts.form = {.kind = OutputForm::Kind::json_schema, .schema = *schema};
}

void read_response_format(AskFields& body, ChatParts& parts) {
  const json::object* object = body.object("response_format");
  if (object == nullptr) return;
  AskFields format(*object, "response_format", body.problem());
  const std::string type = format.string("type").value_or("");
  if (type == "text") return format.finish();
  if (type != "json_object" && type != "json_schema") {
    return body.problem().say(
        bad_field("response_format.type", "response_format.type must be text, json_object or json_schema"));
  }
  if (parts.reads_calls) {
    return body.problem().say(unsupported(
        "response_format", "response_format together with tools is not supported, unless tool_choice is none"));
  }
  if (type == "json_object") {
    parts.form = {.kind = OutputForm::Kind::json_object};
  } else {
    read_schema(format, parts);
  }
  format.finish();
}

// What the template is told besides the conversation; enable_thinking is what Gemma's and Qwen's understand.
void read_template_variables(AskFields& body, ChatParts& parts) {
  if (const auto effort = body.string("reasoning_effort", 16)) {
    parts.chat.variables["enable_thinking"] = *effort != "none" && *effort != "minimal";
  }
  if (const json::object* variables = body.object("chat_template_kwargs")) {
    AskFields fields(*variables, "chat_template_kwargs", body.problem());
    (void)fields.boolean("enable_thinking");
    for (const auto& variable : *variables) {
      // What the server itself fills in.
      if (variable.key() == "messages" || variable.key() == "tools" || variable.key() == "add_generation_prompt") {
        body.problem().say(
            bad_field(fields.path(variable.key()), fmt::format("{} is not for clients", fields.path(variable.key()))));
      }
      if (!variable.value().is_null()) parts.chat.variables[variable.key()] = variable.value();
    }
  }
  const json::value* thinks = parts.chat.variables.if_contains("enable_thinking");
  if (thinks != nullptr && thinks->is_bool()) parts.thinks = thinks->get_bool();
}

void read_media_settings(AskFields& body, ChatParts& parts) {
  const json::object* object = body.object("mm_processor_kwargs");
  if (object == nullptr) return;
  AskFields fields(*object, "mm_processor_kwargs", body.problem());
  if (const auto tokens = fields.integer("max_soft_tokens", 1, 1 << 20)) {
    parts.picture_tokens = static_cast<int32_t>(*tokens);
    if (!is_budget(*tokens)) fields.wrong("max_soft_tokens", "70, 140, 280, 560 or 1120", json::value(*tokens));
  }
  fields.finish();
}

}  // namespace

ChatParts read_chat_parts(AskFields& fields, const ChatTerms& terms) {
  ChatParts parts;
  Messages messages = read_messages(fields, terms.messages, terms.media);
  parts.chat.messages = std::move(messages.for_template);
  parts.media = std::move(messages.media);
  read_tool_choice(fields, read_tools(fields), parts);
  read_response_format(fields, parts);
  read_template_variables(fields, parts);
  read_media_settings(fields, parts);
  return parts;
}

}  // namespace paceline
