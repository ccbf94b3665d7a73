#include "grammar/tagged_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <deque>
#include <unordered_set>

#include "base/utf8.h"
#include "grammar/document_parts.h"
#include "grammar/schema.h"
#include "grammar/schema_fields.h"
#include "grammar/string_form.h"
#include "grammar/tagged_text.h"

namespace paceline::grammar {
namespace {

namespace json = boost::json;

// Alternatives within alternatives, and references to references.
constexpr int kMostSteps = 16;

// The parameters of one tool.
class TaggedCompiler {
 public:
  TaggedCompiler(Parts& parts, TaggedText& text, const json::value& root)
      : text_(text), builder_(parts.builder()), root_(root), values_(parts, root) {}

  // The state to call, between the lines that begin and end a function.
  Result<StateId> compile();

 private:
  struct Parameter {
    std::string name;
    StateId value;
    bool required;
  };
  Result<std::vector<Parameter>> parameters(const json::object& schema);
  StateId lines_of(const std::vector<Parameter>& parameters);
  StateId free_parameters();
  Status add_value(StateId from, const json::value& schema, const std::string& path, int steps);
  Status add_alternatives(StateId from, const json::value& list, const std::string& path, int steps);
  Status add_constants(StateId from, const json::object& schema, const std::string& path);
  Status add_type(StateId from, std::string_view type, const json::object& schema, const std::string& path);
  static Status check_name(std::string_view name, const std::string& path);

  TaggedText& text_;
  AutomatonBuilder& builder_;
  const json::value& root_;
  SchemaCompiler values_;
  std::deque<json::value> made_;  // schemas of one type, of those that have several
};

Status TaggedCompiler::check_name(std::string_view name, const std::string& path) {
  const bool plain = !name.empty() && is_valid_utf8(name) && name.find_first_of("<>\r\n") == std::string_view::npos;
  if (plain && name.size() <= kMaxStates) return Done{};
  return Error{fmt::format("{}: the name {} cannot be written in a tool call", path, json_quoted(name.substr(0, 64)))};
}

Result<std::vector<TaggedCompiler::Parameter>> TaggedCompiler::parameters(const json::object& schema) {
  TRY_ASSIGN(const auto required, required_names(schema, "#"));
  const std::unordered_set<std::string_view> needed(required.begin(), required.end());
  const json::object none, *members = &none;
  if (const json::value* listed = schema.if_contains("properties")) {
    members = listed->if_object();
    if (members == nullptr) return Error{"#/properties: expected an object"};
  }
  if (members->size() + required.size() > kMaxProperties) {
    return Error{fmt::format("#/properties: {} of them; at most {} are supported", members->size() + required.size(),
                             kMaxProperties)};
  }
  std::vector<Parameter> found;
  for (const auto& [name, value] : *members) {
    const std::string path = fmt::format("#/properties/{}", std::string_view(name).substr(0, 64));
    TRY(check_name(name, path));
    const StateId part = builder_.add();
    TRY(add_value(part, value, path, 0));
    found.push_back({std::string(name), part, needed.contains(name)});
  }
  for (const std::string_view name : required) {
    if (members->contains(name)) continue;
    if (schema.contains("additionalProperties")) {
      return Error{fmt::format("#/required: {} is not listed", json_quoted(name.substr(0, 64)))};
    }
    TRY(check_name(name, "#/required"));
    found.push_back({std::string(name), text_.any(), true});
  }
  return found;
}

Result<StateId> TaggedCompiler::compile() {
  if (root_.is_null()) return lines_of({});
  const auto* schema = root_.if_object();
  if (schema != nullptr && schema->empty()) return free_parameters();
  if (schema != nullptr) {
    TRY(check_keywords(*schema, "#"));
    TRY_ASSIGN(const auto types, types_of(*schema, "#"));
    const bool has_others = schema->contains("$ref") || schema->contains("anyOf") || schema->contains("enum");
    if (types != std::vector<std::string_view>{"object"} || has_others) schema = nullptr;
  }
  if (schema == nullptr) return Error{"#: expected the schema of an object"};
  if (!schema->contains("properties") && !schema->contains("required")) {
    const json::value* more = schema->if_contains("additionalProperties");
    const bool closed = more != nullptr && more->is_bool() && !more->get_bool();
    return closed ? lines_of({}) : free_parameters();
  }
  TRY_ASSIGN(const std::vector<Parameter> listed, parameters(*schema));
  return lines_of(listed);
}

StateId TaggedCompiler::lines_of(const std::vector<Parameter>& parameters) {
  StateId next = builder_.add();
  builder_.go(next, kAccept);
  for (auto parameter = parameters.rbegin(); parameter != parameters.rend(); ++parameter) {
    const StateId line = builder_.add(), end = builder_.add();
    builder_.call(builder_.literal(line, "<parameter=" + parameter->name + ">\n"), parameter->value, end, true);
    builder_.literal(end, fmt::format("\n{}\n", kParameterEnd), next);
    if (!parameter->required) builder_.go(line, next);
    next = line;
  }
  return next;
}

// Of any names, with text as their values.
StateId TaggedCompiler::free_parameters() {
  constexpr int kMostLetters = 64;
  const StateId line = builder_.add(), end = builder_.add(), value = builder_.add();
  builder_.go(line, kAccept);
  StateId name = builder_.literal(line, "<parameter=");
  for (int i = 0; i < kMostLetters; ++i) {
    const StateId next = builder_.add();
    for (const auto& [low, high] : {std::pair('a', 'z'), {'A', 'Z'}, {'0', '9'}, {'_', '_'}, {'-', '.'}}) {
      builder_.bytes(name, low, high, next);
    }
    builder_.literal(next, ">\n", value);
    name = next;
  }
  builder_.call(value, text_.any(), end, true);
  builder_.literal(end, fmt::format("\n{}\n", kParameterEnd), line);
  return line;
}

Status TaggedCompiler::add_value(StateId from, const json::value& schema, const std::string& path, int steps) {
  if (steps > kMostSteps) return Error{fmt::format("{}: the schema is nested deeper than {}", path, kMostSteps)};
  if (builder_.too_large()) {
    return Error{fmt::format("{}: the schema is too large: more than {} states", path, kMaxStates)};
  }
  const auto* fields = schema.if_object();
  if (fields == nullptr) {
    if (!schema.is_bool()) return Error{fmt::format("{}: expected a schema: an object or a boolean", path)};
    if (schema.get_bool()) builder_.go(from, text_.any());
    return Done{};
  }
  TRY(check_keywords(*fields, path));
  if (const json::value* reference = fields->if_contains("$ref")) {
    TRY_ASSIGN(const auto target, find_reference(root_, *reference, path));
    return add_value(from, *target.schema, path, steps + 1);
  }
  for (const char* name : {"anyOf", "oneOf", "allOf"}) {
    if (const json::value* list = fields->if_contains(name)) {
      return add_alternatives(from, *list, fmt::format("{}/{}", path, name), steps + 1);
    }
  }
  if (fields->contains("enum") || fields->contains("const")) return add_constants(from, *fields, path);
  TRY_ASSIGN(const auto types, types_of(*fields, path));
  if (types.empty()) builder_.go(from, text_.any());
  for (const std::string_view type : types) TRY(add_type(from, type, *fields, path));
  return Done{};
}

Status TaggedCompiler::add_alternatives(StateId from, const json::value& list, const std::string& path, int steps) {
  constexpr size_t kMany = 16;
  const auto* alternatives = list.if_array();
  if (alternatives == nullptr || alternatives->empty()) {
    return Error{fmt::format("{}: expected an array of schemas", path)};
  }
  if (path.ends_with("/allOf") && alternatives->size() > 1) {
    return Error{fmt::format("{}: of more than one schema is not supported", path)};
  }
  for (size_t i = 0; i < alternatives->size(); ++i) {
    const StateId part = builder_.add();
    TRY(add_value(part, (*alternatives)[i], fmt::format("{}/{}", path, i), steps));
    builder_.go(from, part);
  }
  if (alternatives->size() >= kMany) builder_.note_wide(from, path);
  return Done{};
}

Status TaggedCompiler::add_constants(StateId from, const json::object& schema, const std::string& path) {
  std::vector<const json::value*> values;
  if (const json::value* only = schema.if_contains("const")) values.push_back(only);
  if (const json::value* list = schema.if_contains("enum")) {
    if (!list->is_array()) return Error{fmt::format("{}/enum: expected an array", path)};
    if (list->get_array().empty()) return Error{fmt::format("{}/enum: expected a value or more, found none", path)};
    for (const json::value& value : list->get_array()) values.push_back(&value);
  }
  if (schema.contains("type")) {
    TRY_ASSIGN(const auto types, types_of(schema, path));
    std::erase_if(values, [&](const json::value* value) { return !is_of_types(*value, types); });
  }
  std::vector<std::string> texts;
  for (const json::value* value : values) {
    std::string text = value->is_string() ? std::string(value->get_string()) : json::serialize(*value);
    if (value->is_double()) text = fmt::format("{}", value->get_double());
    if (!is_valid_utf8(text) || text.find(kParameterEnd) != std::string::npos) {
      return Error{fmt::format("{}: a constant cannot be written in a tool call", path)};
    }
    texts.push_back(std::move(text));
  }
  if (!texts.empty()) builder_.one_of(from, {texts.begin(), texts.end()}, kAccept);
  return Done{};
}

Status TaggedCompiler::add_type(StateId from, std::string_view type, const json::object& schema,
                                const std::string& path) {
  if (type == "string" && has_string_form(schema)) {
    const Status added = add_string_form(builder_, schema, Writing::raw, from, kAccept);
    return added.ok() ? Status(Done{}) : Error{fmt::format("{}/{}", path, added.error().message)};
  }
  if (type == "string") {
    TRY_ASSIGN(const LengthBounds bounds, length_bounds(schema, "minLength", "maxLength", path));
    builder_.go(from, bounds.low > 0 || bounds.high ? text_.of(bounds) : text_.any());
    return Done{};
  }
  json::object one = schema;
  one["type"] = type;
  made_.emplace_back(std::move(one));
  TRY_ASSIGN(const StateId part, values_.compile_at(made_.back(), path));
  builder_.go(from, part);
  return Done{};
}

}  // namespace

Result<Automaton> tagged_call_grammar(const CallTokens& around, std::span<const ToolSchema> tools,
                                      const ToolCallOptions& options) {
  TRY(check_tools(tools));
  AutomatonBuilder builder;
  Parts parts(builder, {});
  TaggedText text(parts);
  const StateId call = builder.add(), name = builder.literal(call, "\n<function="), end = builder.add();
  builder.literal(end, "</function>\n", kAccept);
  std::deque<TaggedCompiler> compilers;
  for (const ToolSchema& tool : tools) {
    auto parameters = compilers.emplace_back(parts, text, tool.parameters).compile();
    if (!parameters.ok()) return Error{fmt::format("tool {}: {}", tool.name, parameters.error().message)};
    if (tool.strict) builder.note_needed(*parameters, "tool " + tool.name);
    builder.call(builder.literal(name, tool.name + ">\n"), *parameters, end, false);
  }
  return whole_of_calls(parts, around, call, "\n", options);
}

}  // namespace paceline::grammar
