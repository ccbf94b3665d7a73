#include "session/chat_parts.h"

#include <fmt/format.h>

#include "media/patches.h"
#include "session/tool_offer.h"

namespace paceline {
namespace {

namespace json = boost::json;

void read_tool(AskFields& tool, ToolOffer& tools) {
  const std::string type = tool.string("type").value_or("function");
  if (type != "function") tool.problem().say(unsupported(tool.path("type"), "only tools of type function are known"));
  const json::object* function = tool.object("function");
  if (function == nullptr) return tool.missing("function", "an object with a name");
  AskFields fields(*function, tool.path("function"), tool.problem());
  const auto name = fields.string("name", 256);
  if (!name || name->empty()) return fields.missing("name", "a string");
  ToolDeclaration made{*name, fields.string("description").value_or(""), fields.object("parameters"),
                       fields.boolean("strict").value_or(false)};
  fields.finish();
  tool.finish();
  tools.add(made, tool.path("function"), tool.problem());
}

}  // namespace

ToolOffer read_function_tools(AskFields& body) {
  ToolOffer tools;
  each_tool(body, [&](AskFields& tool, const std::string&) { read_tool(tool, tools); });
  return tools;
}

namespace {

// {"type": "function", "function": {"name": "x"}}
void read_named_choice(AskFields& body, const json::object& choice, ToolChoice& made) {
  AskFields fields(choice, "tool_choice", body.problem());
  if (fields.string("type").value_or("") != "function")
    return body.problem().say(bad_field("tool_choice.type", "tool_choice.type must be function"));
  const json::object* function = fields.object("function");
  if (function == nullptr) return fields.missing("function", "an object with a name");
  AskFields inner(*function, "tool_choice.function", body.problem());
  const auto name = inner.string("name");
  if (!name) return inner.missing("name", "the name of one of the tools");
  made.kind = ToolChoice::Kind::required;
  made.names = {*name};
  made.parallel = false;
}

// none, auto, required, or one tool by its name.
ToolChoice read_tool_choice(AskFields& body) {
  ToolChoice made{.parallel = body.boolean("parallel_tool_calls").value_or(true),
                  .field = "tool_choice",
                  .names_field = "tool_choice.function.name"};
  const json::value* choice = body.any("tool_choice");
  if (choice == nullptr || *choice == "auto") return made;
  if (*choice == "none") {
    made.kind = ToolChoice::Kind::none;
  } else if (*choice == "required") {
    made.kind = ToolChoice::Kind::required;
  } else if (choice->is_object()) {
    read_named_choice(body, choice->get_object(), made);
  } else {
    body.wrong("tool_choice", "none, auto, required or a function's name in an object", *choice);
  }
  return made;
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
  demand_form({.kind = OutputForm::Kind::json_schema, .schema = *schema}, parts);
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
  if (type == "json_object") {
    demand_form({.kind = OutputForm::Kind::json_object}, parts);
  } else {
    read_schema(format, parts);
  }
  format.finish();
}

// What the template is told besides the conversation; enable_thinking is what Gemma's and Qwen's understand.
void read_template_variables(AskFields& body, const char* name, ChatParts& parts) {
  if (const auto effort = body.string("reasoning_effort", 16)) {
    parts.chat.variables["enable_thinking"] = *effort != "none" && *effort != "minimal";
  }
  if (const json::object* variables = body.object(name)) {
    AskFields fields(*variables, name, body.problem());
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

void demand_form(OutputForm form, ChatParts& parts) {
  if (parts.form) {
    // A call that is demanded goes before; else the output is calls or has the form.
    if (parts.form->kind == OutputForm::Kind::tool_calls) return;
    form.tools = std::move(parts.form->tools);
    form.max_calls = parts.form->max_calls;
  }
  parts.form = std::move(form);
}

ChatParts read_chat_parts(AskFields& fields, const ChatTerms& terms) {
  ChatParts parts;
  Messages messages = read_messages(fields, terms.messages, terms.media);
  parts.chat.messages = std::move(messages.for_template);
  parts.media = std::move(messages.media);
  const ToolChoice choice = read_tool_choice(fields);
  offer_tools(read_function_tools(fields), choice, parts, fields.problem());
  read_response_format(fields, parts);
  read_template_variables(fields, terms.variables, parts);
  read_media_settings(fields, parts);
  return parts;
}

}  // namespace paceline
