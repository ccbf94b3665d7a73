#include "session/callable_tools.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "grammar/schema_fields.h"

namespace paceline {
namespace {

namespace json = boost::json;

// References may lead to each other.
constexpr int kMostSteps = 16;

uint8_t type_named(std::string_view name) {
  if (name == "string") return kStringType;
  if (name == "number" || name == "integer") return kNumberType;
  if (name == "boolean") return kBooleanType;
  if (name == "null") return kNullType;
  return name == "object" || name == "array" ? kStructuredType : 0;
}

uint8_t type_of_value(const json::value& value) {
  if (value.is_string()) return kStringType;
  if (value.is_number()) return kNumberType;
  if (value.is_bool()) return kBooleanType;
  return value.is_null() ? kNullType : kStructuredType;
}

// 0: it says nothing. Schemas are as clients sent them; what is wrong with one is said elsewhere.
uint8_t types_in(const json::value& schema, const json::value& root, int steps) {
  const auto* fields = schema.if_object();
  if (fields == nullptr || steps > kMostSteps) return 0;
  if (const json::value* reference = fields->if_contains("$ref")) {
    const auto target = grammar::find_reference(root, *reference, "#");
    return target.ok() ? types_in(*target->schema, root, steps + 1) : 0;
  }
  uint8_t types = 0;
  for (const char* name : {"anyOf", "oneOf", "allOf"}) {
    const json::value* list = fields->if_contains(name);
    if (list == nullptr || !list->is_array()) continue;
    for (const json::value& each : list->get_array()) types |= types_in(each, root, steps + 1);
  }
  if (const json::value* only = fields->if_contains("const")) types |= type_of_value(*only);
  if (const json::value* list = fields->if_contains("enum"); list != nullptr && list->is_array()) {
    for (const json::value& each : list->get_array()) types |= type_of_value(each);
  }
  if (types != 0) return types;
  auto named = grammar::types_of(*fields, "#");
  if (!named.ok()) return 0;
  for (const std::string_view name : *named) types |= type_named(name);
  return types;
}

}  // namespace

uint8_t CallableTool::types_of(std::string_view parameter) const {
  for (const Parameter& each : parameters) {
    if (each.name == parameter) return each.types;
  }
  return kStringType;
}

CallableTool callable_tool(const grammar::ToolSchema& tool) {
  CallableTool made{tool.name};
  const auto* schema = tool.parameters.if_object();
  const json::value* listed = schema != nullptr ? schema->if_contains("properties") : nullptr;
  if (listed == nullptr || !listed->is_object()) return made;
  for (const auto& [name, value] : listed->get_object()) {
    const uint8_t types = types_in(value, tool.parameters, 0);
    made.parameters.push_back({std::string(name), types == 0 ? uint8_t{kStringType} : types});
  }
  return made;
}

const CallableTool* find_tool(const CallableTools& tools, std::string_view name) {
  const auto at = std::find_if(tools.begin(), tools.end(), [&](const CallableTool& tool) { return tool.name == name; });
  return at == tools.end() ? nullptr : &*at;
}

size_t bytes_of(const CallableTools& tools) {
  size_t bytes = tools.capacity() * sizeof(CallableTool);
  for (const CallableTool& tool : tools) {
    bytes += tool.name.capacity() + tool.parameters.capacity() * sizeof(CallableTool::Parameter);
    for (const auto& parameter : tool.parameters) bytes += parameter.name.capacity();
  }
  return bytes;
}

}  // namespace paceline
