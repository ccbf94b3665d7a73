#include "server/messages/messages_wire.h"

#include <fmt/format.h>

#include "server/messages/message_blocks.h"
#include "server/messages/messages_format.h"
#include "session/tool_offer.h"

namespace paceline::messages {
namespace {

namespace json = boost::json;

void read_tool(AskFields& tool, const std::string& place, ToolOffer& offer) {
  const std::string type = tool.string("type").value_or("custom");
  // The maker's own, which run elsewhere.
  if (type != "custom") return tool.problem().leave_out(fmt::format("{}:{}", place, type));
  const auto name = tool.string("name", 256);
  if (!name || name->empty()) return tool.missing("name", "a string");
  ToolDeclaration made{*name, tool.string("description").value_or(""), tool.object("input_schema"), false};
  tool.ignore(
      {"cache_control", "strict", "eager_input_streaming", "input_examples", "defer_loading", "allowed_callers"});
  tool.finish();
  offer.add(made, place, tool.problem());
}

ToolOffer read_tools(AskFields& body) {
  ToolOffer offer;
  each_tool(body, [&](AskFields& tool, const std::string& place) { read_tool(tool, place, offer); });
  return offer;
}

ToolChoice read_tool_choice(AskFields& body) {
  ToolChoice made{.field = "tool_choice", .names_field = "tool_choice.name"};
  const json::object* object = body.object("tool_choice");
  if (object == nullptr) return made;
  AskFields fields(*object, "tool_choice", body.problem());
  made.parallel = !fields.boolean("disable_parallel_tool_use").value_or(false);
  const std::string type = fields.string("type").value_or("");
  if (type == "none") {
    made.kind = ToolChoice::Kind::none;
  } else if (type == "any") {
    made.kind = ToolChoice::Kind::required;
  } else if (type == "tool") {
    made.kind = ToolChoice::Kind::required;
    const auto name = fields.string("name");
    if (!name) fields.missing("name", "the name of one of the tools");
    made.names = {name.value_or("")};
    made.parallel = false;
  } else if (type != "auto") {
    body.problem().say(bad_field("tool_choice.type", "tool_choice.type must be auto, any, tool or none"));
  }
  fields.finish();
  return made;
}

void read_thinking(AskFields& body, ChatAsk& ask) {
  const json::object* object = body.object("thinking");
  if (object == nullptr) return;
  AskFields fields(*object, "thinking", body.problem());
  const std::string type = fields.string("type").value_or("");
  if (type != "enabled" && type != "adaptive" && type != "between_tools" && type != "disabled") {
    return body.problem().say(
        bad_field("thinking.type", "thinking.type must be enabled, adaptive, between_tools or disabled"));
  }
  ask.set_thinking(type != "disabled");
  if (const auto budget = fields.integer("budget_tokens", 1, 1 << 30))
    ask.thought_tokens = static_cast<int32_t>(*budget);
  fields.ignore({"display"});
  fields.finish();
}

// {"effort": "low", "format": {"type": "json_schema", "schema": {...}}}
void read_output_config(AskFields& body, ChatAsk& ask) {
  const json::object* object = body.object("output_config");
  if (object == nullptr) return;
  AskFields fields(*object, "output_config", body.problem());
  fields.ignore({"effort"});
  if (const json::object* format = fields.object("format")) {
    AskFields form(*format, "output_config.format", body.problem());
    const json::value* schema = form.any("schema");
    if (form.string("type").value_or("") != "json_schema" || schema == nullptr) {
      body.problem().say(bad_field("output_config.format",
                                   "output_config.format must be of type json_schema, with a "
                                   "schema"));
    } else {
      demand_form({.kind = OutputForm::Kind::json_schema, .schema = *schema}, ask);
    }
    form.finish();
  }
  fields.finish();
}

class MessagesWire final : public Wire {
 public:
  [[nodiscard]] bool ignores_unknown() const override { return true; }
  [[nodiscard]] std::unique_ptr<EarlyStream> early_stream(const std::string&,
                                                          std::shared_ptr<SaidEarly>) const override {
    return plain_early_stream("event: ping\ndata: {\"type\":\"ping\"}\n\n", "event: error\n");
  }

  void read(const json::object& body, const RequestLimits& limits, FieldProblem& problem) override {
    AskFields fields(body, "", problem);
    read_choosing(fields, limits, ask_);
    read_stops(fields, "stop_sequences", ask_);
    read_most_tokens(fields, "max_tokens", ask_);
    Conversation conversation = read_conversation(fields, limits.max_messages, media_terms(limits));
    ask_.chat.messages = std::move(conversation.made.for_template);
    ask_.media = std::move(conversation.made.media);
    ask_.chat.continue_final_message = conversation.is_open;
    ask_.chat.add_generation_prompt = !conversation.is_open;
    const ToolChoice choice = read_tool_choice(fields);
    offer_tools(read_tools(fields), choice, ask_, problem);
    read_thinking(fields, ask_);
    read_output_config(fields, ask_);
    for (const char* name : {"container", "mcp_servers"}) {
      const json::value* value = fields.any(name);
      if (value != nullptr && !(value->is_array() && value->get_array().empty()))
        problem.say(unsupported(name, fmt::format("{} is not supported", name)));
    }
    fields.ignore({"metadata", "service_tier", "speed", "cache_control", "context_management", "inference_geo", "betas",
                   "diagnostics", "user_profile_id", "workspace_id"});
    fields.finish();
  }

  [[nodiscard]] ChatAsk* chat() override { return &ask_; }
  [[nodiscard]] const char* form_field() const override { return "output_config.format"; }
  [[nodiscard]] std::string answer_id(const std::string& letters) const override {
    return messages::answer_id(letters);
  }
  [[nodiscard]] std::unique_ptr<AnswerFormat> format(const AnswerOrigin& origin) override {
    return make_format(origin);
  }
  [[nodiscard]] json::object count(size_t tokens) const override { return {{"input_tokens", tokens}}; }

 private:
  ChatAsk ask_;
};

}  // namespace

std::unique_ptr<Wire> make_wire() { return std::make_unique<MessagesWire>(); }

}  // namespace paceline::messages
