#include "server/responses/responses_ask.h"

#include <fmt/format.h>

#include "server/responses/response_items.h"

namespace paceline::responses {
namespace {

namespace json = boost::json;

// {"format": {"type": "json_schema", "name": "x", "schema": {...}}}
void read_text(AskFields& body, ResponsesAsk& ask) {
  const json::object* object = body.object("text");
  if (object == nullptr) return;
  AskFields text(*object, "text", body.problem());
  text.ignore({"verbosity"});
  if (const json::object* format = text.object("format")) {
    AskFields form(*format, "text.format", body.problem());
    form.ignore({"name", "description", "strict"});
    const std::string type = form.string("type").value_or("");
    const json::value* schema = form.any("schema");
    if (type == "json_object") {
      demand_form({.kind = OutputForm::Kind::json_object}, ask);
    } else if (type == "json_schema" && schema != nullptr) {
      demand_form({.kind = OutputForm::Kind::json_schema, .schema = *schema}, ask);
    } else if (type == "json_schema") {
      form.missing("schema", "a JSON Schema");
    } else if (type != "text") {
      body.problem().say(bad_field("text.format.type", "text.format.type must be text, json_object or json_schema"));
    }
    form.finish();
  }
  text.finish();
}

void read_reasoning(AskFields& body, ResponsesAsk& ask) {
  const json::object* object = body.object("reasoning");
  if (object == nullptr) return;
  AskFields fields(*object, "reasoning", body.problem());
  if (const auto effort = fields.string("effort", 16)) ask.set_thinking(*effort != "none" && *effort != "minimal");
  const std::string summary = fields.string("summary", 16).value_or("");
  if (!summary.empty() && summary != "auto" && summary != "concise" && summary != "detailed")
    body.problem().say(bad_field("reasoning.summary", "reasoning.summary must be auto, concise or detailed"));
  ask.thinks_in_summary = !summary.empty();
  fields.ignore({"generate_summary", "context"});
  fields.finish();
}

void read_logprobs(AskFields& body, ResponsesAsk& ask) {
  const auto top = body.integer("top_logprobs", 0, kMaxTopLogprobs);
  const json::array* include = body.array("include");
  for (size_t i = 0; include != nullptr && i < include->size(); ++i)
    ask.has_logprobs = ask.has_logprobs || (*include)[i] == "message.output_text.logprobs";
  if (top && *top > 0) ask.has_logprobs = true;
  if (ask.has_logprobs) ask.wishes.top_logprobs = static_cast<int32_t>(top.value_or(0));
}

void refuse_others(AskFields& body) {
  if (body.boolean("background").value_or(false))
    body.problem().say(unsupported("background", "background is not supported"));
  for (const char* name : {"conversation", "prompt", "moderation", "context_management"}) {
    if (body.any(name) != nullptr) body.problem().say(unsupported(name, fmt::format("{} is not supported", name)));
  }
  if (body.string("truncation").value_or("disabled") != "disabled")
    body.problem().say(unsupported("truncation", "truncation is not supported, unless disabled"));
  body.ignore({"metadata", "user", "prompt_cache_key", "prompt_cache_retention", "safety_identifier", "service_tier",
               "client_metadata", "stream_options", "max_tool_calls"});
}

// Those before, where there are any, and those of `input`. Their number is that of the latter.
size_t gather_items(AskFields& body, const StoreAccess& access, ResponsesAsk& ask) {
  FieldProblem& problem = body.problem();
  if (const auto previous = body.string("previous_response_id", 256)) {
    auto found = access.store->find(*previous, access.owner);
    if (!found) {
      FieldError error = bad_field("previous_response_id", fmt::format("there is no response {} here", *previous));
      error.code = "previous_response_not_found";
      problem.say(std::move(error));
      return 0;
    }
    ask.items = conversation_of(*found);
  }
  const json::value* input = body.any("input");
  if (input != nullptr && input->is_string()) {
    ask.items.push_back({{"type", "message"}, {"role", "user"}, {"content", *input}});
    return 1;
  }
  if (input == nullptr || !input->is_array() || input->get_array().empty()) {
    body.missing("input", "a string or a list of at least one item");
    return 0;
  }
  for (const json::value& item : input->get_array()) ask.items.push_back(item);
  return input->get_array().size();
}

// As the SDK's type has them.
void note_given(const json::object& body, ResponsesAsk& ask) {
  const auto given = [&](const char* name, json::value otherwise) {
    const json::value* said = body.if_contains(name);
    ask.given[name] = said != nullptr && !said->is_null() ? *said : std::move(otherwise);
  };
  given("instructions", nullptr);
  given("max_output_tokens", nullptr);
  given("metadata", json::object());
  given("parallel_tool_calls", true);
  given("previous_response_id", nullptr);
  given("reasoning", {{"effort", nullptr}, {"summary", nullptr}});
  ask.given["store"] = ask.is_stored;
  given("temperature", 1);
  given("text", {{"format", {{"type", "text"}}}});
  given("tool_choice", "auto");
  given("tools", json::array());
  given("top_p", 1);
  given("top_logprobs", 0);
  given("truncation", "disabled");
  given("user", nullptr);
  ask.given["background"] = false;
  ask.given["service_tier"] = "default";
}

}  // namespace

ResponsesAsk read_ask(const json::object& body, const RequestLimits& limits, const StoreAccess& access,
                      FieldProblem& problem) {
  ResponsesAsk ask;
  AskFields fields(body, "", problem);
  read_choosing(fields, limits, ask);
  read_stops(fields, "stop", ask);
  read_most_tokens(fields, "max_output_tokens", ask);
  ask.is_stored = fields.boolean("store").value_or(true) && access.store->keeps();
  const std::string instructions = fields.string("instructions").value_or("");
  const size_t own = gather_items(fields, access, ask);
  ItemTerms terms{limits.max_messages, media_terms(limits),
                  [&](const std::string& id) { return access.store->find_item(id, access.owner); }};
  if (problem.none()) {
    Messages messages = read_items(ask.items, own, instructions, terms, problem);
    ask.chat.messages = std::move(messages.for_template);
    ask.media = std::move(messages.media);
  }
  const ToolChoice choice = read_tool_choice(fields);
  Tools tools = read_tools(fields);
  ask.names = std::move(tools.names);
  offer_tools(std::move(tools.offer), choice, ask, problem);
  read_text(fields, ask);
  read_reasoning(fields, ask);
  read_logprobs(fields, ask);
  refuse_others(fields);
  fields.finish();
  note_given(body, ask);
  return ask;
}

}  // namespace paceline::responses
