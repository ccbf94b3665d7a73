#include "session/tool_offer.h"

#include <fmt/format.h>

#include <algorithm>

#include "grammar/enforceable.h"
#include "session/ask_fields.h"
#include "session/chat_parts.h"

namespace paceline {
namespace {

namespace json = boost::json;

// Calls of one answer, where it may have several.
constexpr int kMaxParallelCalls = 8;

}  // namespace

void ToolOffer::add(const ToolDeclaration& tool, const std::string& place, FieldProblem& problem) {
  if (schemas.size() >= kMaxTools)
    return problem.say(bad_field("tools", fmt::format("more than {} tools are not taken", kMaxTools)));
  // Also where no call is demanded: templates write it down as it is.
  if (const Status good = grammar::check_tool_name(tool.name); !good.ok())
    return problem.say(bad_field(fmt::format("{}.name", place), good.error().message));
  json::object made{{"name", tool.name}, {"description", tool.description}};
  json::value schema = nullptr;
  if (tool.parameters != nullptr) {
    json::object parameters = *tool.parameters;
    // Templates close the declaration only behind a type.
    if (!parameters.empty() && !parameters.contains("type")) parameters["type"] = "object";
    made["parameters"] = parameters;
    schema = tool.strict ? json::value(std::move(parameters)) : grammar::enforceable(parameters);
  }
  schemas.push_back({tool.name, std::move(schema), tool.strict});
  for_template.push_back({{"type", "function"}, {"function", std::move(made)}});
}

void offer_tools(ToolOffer tools, const ToolChoice& choice, ChatParts& parts, FieldProblem& problem) {
  const bool demands = choice.kind == ToolChoice::Kind::required;
  if (demands && tools.schemas.empty()) {
    return problem.say(
        bad_field(choice.field, fmt::format("{} asks for a call, and there are no tools", choice.field)));
  }
  parts.reads_calls = !tools.schemas.empty() && choice.kind != ToolChoice::Kind::none;
  if (!parts.reads_calls) return;
  parts.chat.tools = std::move(tools.for_template);
  const auto is_named = [&](const grammar::ToolSchema& tool) {
    return std::find(choice.names.begin(), choice.names.end(), tool.name) != choice.names.end();
  };
  for (const std::string& name : choice.names) {
    if (std::none_of(tools.schemas.begin(), tools.schemas.end(), [&](const auto& tool) { return tool.name == name; }))
      return problem.say(
          bad_field(choice.names_field, fmt::format("{} must be the name of one of the tools", choice.names_field)));
  }
  if (!choice.names.empty()) std::erase_if(tools.schemas, [&](const auto& tool) { return !is_named(tool); });
  for (const auto& tool : tools.schemas) parts.tools.push_back(callable_tool(tool));
  parts.form = {.kind = demands ? OutputForm::Kind::tool_calls : OutputForm::Kind::text,
                .tools = std::move(tools.schemas),
                .max_calls = choice.parallel ? kMaxParallelCalls : 1};
}

void each_tool(AskFields& body, const std::function<void(AskFields& tool, const std::string& place)>& read) {
  const boost::json::array* array = body.array("tools");
  for (size_t i = 0; array != nullptr && i < array->size() && body.problem().none(); ++i) {
    const std::string place = fmt::format("tools[{}]", i);
    if (!(*array)[i].is_object())
      return body.problem().say(bad_field(place, fmt::format("{} must be an object", place)));
    AskFields tool((*array)[i].get_object(), place, body.problem());
    read(tool, place);
  }
}

}  // namespace paceline
