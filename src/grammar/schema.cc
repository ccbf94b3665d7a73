#include "grammar/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <set>
#include <utility>

#include "grammar/schema_fields.h"
#include "grammar/string_form.h"

namespace paceline::grammar {
namespace {

bool has_more_than_all(const boost::json::object& schema) {
  return schema.contains("type") || schema.contains("properties") || schema.contains("required") ||
         schema.contains("additionalProperties");
}

// A number, true, false or null as it is written.
std::string plain_text(const boost::json::value& value) {
  return value.is_double() ? fmt::format("{}", value.get_double()) : boost::json::serialize(value);
}

}  // namespace

SchemaCompiler::Place SchemaCompiler::Place::at(const Value& value, std::string_view name) const {
  return {&value, fmt::format("{}/{}", path, shown(name)), depth + 1};
}

Result<StateId> SchemaCompiler::compile() { return compile_at(root_, "#"); }

Result<StateId> SchemaCompiler::compile_at(const Value& schema, std::string path) {
  TRY_ASSIGN(const StateId start, part_of({&schema, std::move(path)}));
  while (!pending_.empty()) {
    const Place place = std::move(pending_.back());
    pending_.pop_back();
    TRY(add(known_.at(place.schema), place));
  }
  return start;
}

Result<StateId> SchemaCompiler::part_of(const Place& place) {
  const auto [known, is_new] = known_.emplace(place.schema, kNoState);
  if (!is_new) return known->second;
  // Schemas of the same text are one.
  std::string text = boost::json::serialize(*place.schema);
  if (!parts_.builder().spend(text.size())) {
    return Error{
        fmt::format("{}: the schema takes too much work: more than {} bytes of it are read, what stands "
                    "within others each time",
                    place.path, kMaxSchemaWork)};
  }
  const auto [alike, is_first] = alike_.emplace(std::move(text), kNoState);
  if (!is_first) return known->second = alike->second;
  const StateId made = known->second = alike->second = parts_.builder().add();
  TRY(add(made, place));
  return made;
}

Status SchemaCompiler::add(StateId from, const Place& place) {
  if (place.depth > kMaxSchemaDepth) {
    return Error{fmt::format("{}: the schema is nested deeper than {}", place.path, kMaxSchemaDepth)};
  }
  if (parts_.builder().too_large()) {
    return Error{fmt::format("{}: the schema is too large: more than {} states", place.path, kMaxStates)};
  }
  if (const bool* allowed = place.schema->if_bool()) {
    if (*allowed) parts_.builder().go(from, parts_.any_value());
    return Done{};
  }
  const Object* schema = place.schema->if_object();
  if (schema == nullptr) return Error{fmt::format("{}: expected a schema: an object or a boolean", place.path)};
  TRY(check_keywords(*schema, place.path));
  return add_object_schema(from, place, *schema);
}

Status SchemaCompiler::add_object_schema(StateId from, const Place& place, const Object& schema) {
  if (schema.contains("$ref")) return add_reference(from, place, schema);
  for (const std::string_view name : {"anyOf", "oneOf", "allOf"}) {
    const Value* alternatives = schema.if_contains(name);
    if (alternatives == nullptr) continue;
    const auto* list = alternatives->if_array();
    if (list == nullptr || list->empty()) {
      return Error{fmt::format("{}/{}: expected an array of schemas", place.path, name)};
    }
    if (name == "allOf" && (list->size() > 1 || has_more_than_all(schema))) return add_all(from, place, schema);
    return add_alternatives(from, place.at(*alternatives, name), *alternatives);
  }
  if (schema.contains("enum") || schema.contains("const")) return add_constants(from, place, schema);
  TRY_ASSIGN(const std::vector<std::string_view> types, types_of(schema, place.path));
  if (types.empty()) parts_.builder().go(from, parts_.any_value());
  for (const std::string_view type : types) TRY(add_type(from, type, place, schema));
  return Done{};
}

Status SchemaCompiler::add_reference(StateId from, const Place& place, const Object& schema) {
  TRY_ASSIGN(const auto target, find_reference(root_, schema.at("$ref"), place.path));
  const auto [known, is_new] = known_.emplace(target.schema, kNoState);
  if (is_new) {
    known->second = parts_.builder().add();
    pending_.push_back({target.schema, shown(target.path), 0});
  }
  parts_.builder().go(from, known->second);
  return Done{};
}

Status SchemaCompiler::add_alternatives(StateId from, const Place& place, const Value& alternatives) {
  constexpr size_t kMany = 16;
  std::set<StateId> added;
  size_t index = 0;
  for (const Value& alternative : alternatives.get_array()) {
    TRY_ASSIGN(const StateId part, part_of(place.at(alternative, std::to_string(index++))));
    if (added.insert(part).second) parts_.builder().go(from, part);
  }
  if (added.size() >= kMany) parts_.builder().note_wide(from, place.path);
  return Done{};
}

Status SchemaCompiler::add_constants(StateId from, const Place& place, const Object& schema) {
  std::vector<const Value*> values;
  if (const Value* only = schema.if_contains("const")) values.push_back(only);
  if (const Value* list = schema.if_contains("enum")) {
    if (!list->is_array()) return Error{fmt::format("{}/enum: expected an array", place.path)};
    if (list->get_array().empty())
      return Error{fmt::format("{}/enum: expected a value or more, found none", place.path)};
    for (const Value& value : list->get_array()) values.push_back(&value);
  }
  if (schema.contains("type")) {
    TRY_ASSIGN(const auto types, types_of(schema, place.path));
    std::erase_if(values, [&](const Value* value) { return !is_of_types(*value, types); });
  }
  // Strings and plain values go letter by letter together, however many there are.
  const bool call = parts_.dialect().call;
  std::vector<std::string> quoted, plain;
  for (const Value* value : values) {
    if (value->is_structured()) {
      TRY(add_value(from, *value, kAccept, place));
    } else if (!value->is_string()) {
      plain.push_back(plain_text(*value));
    } else {
      TRY(check_text(value->get_string(), call, place.path));
      (call ? quoted : plain).push_back(call ? std::string(value->get_string()) : json_quoted(value->get_string()));
    }
  }
  AutomatonBuilder& b = parts_.builder();
  if (!plain.empty()) b.one_of(from, {plain.begin(), plain.end()}, kAccept);
  if (quoted.empty()) return Done{};
  const StateId begin = b.add(), end = b.add();
  b.token(from, parts_.dialect().quote, begin);
  b.one_of(begin, {quoted.begin(), quoted.end()}, end);
  b.token(end, parts_.dialect().quote, kAccept);
  return Done{};
}

// A value as it stands, without white space.
Status SchemaCompiler::add_value(StateId from, const Value& value, StateId to, const Place& place) {
  AutomatonBuilder& b = parts_.builder();
  if (place.depth > kMaxSchemaDepth || b.too_large()) {
    return Error{fmt::format("{}: a constant is too large or nested too deep", place.path)};
  }
  Place inner = place;
  ++inner.depth;
  if (const auto* text = value.if_string()) {
    TRY(check_text(*text, parts_.dialect().call, place.path));
    parts_.string_literal(from, *text, to);
  } else if (const auto* list = value.if_array()) {
    from = b.literal(from, "[");
    for (size_t i = 0; i < list->size(); ++i) {
      if (i > 0) from = b.literal(from, ",");
      const StateId next = b.add();
      TRY(add_value(from, (*list)[i], next, inner));
      from = next;
    }
    b.literal(from, "]", to);
  } else if (const auto* object = value.if_object()) {
    from = b.literal(from, "{");
    bool first = true;
    for (const auto& [name, member] : *object) {
      TRY(check_name(name, place));
      if (!std::exchange(first, false)) from = b.literal(from, ",");
      from = b.literal(from, parts_.key_literal(name) + ":");
      const StateId next = b.add();
      TRY(add_value(from, member, next, inner));
      from = next;
    }
    b.literal(from, "}", to);
  } else {
    b.literal(from, plain_text(value), to);
  }
  return Done{};
}

Status SchemaCompiler::add_type(StateId from, std::string_view type, const Place& place, const Object& schema) {
  AutomatonBuilder& b = parts_.builder();
  if (type == "object") return add_object(from, place, schema);
  if (type == "array") return add_array(from, place, schema);
  if (type == "string") return add_string(from, place, schema);
  if (type == "number" || type == "integer") return add_number_type(from, type == "integer", place, schema);
  if (type == "boolean") {
    b.one_of(from, {"true", "false"}, kAccept);
  } else {
    b.literal(from, "null", kAccept);
  }
  return Done{};
}

Status SchemaCompiler::add_number_type(StateId from, bool integer, const Place& place, const Object& schema) {
  TRY_ASSIGN(const NumberBounds bounds, number_bounds(schema, integer, place.path));
  parts_.builder().go(from, parts_.number(bounds));
  return Done{};
}

Status SchemaCompiler::add_string(StateId from, const Place& place, const Object& schema) {
  if (has_string_form(schema)) return add_formed(from, place, schema);
  TRY_ASSIGN(const LengthBounds bounds, length_bounds(schema, "minLength", "maxLength", place.path));
  const bool bounded = bounds.low > 0 || bounds.high;
  parts_.builder().go(from, bounded ? parts_.string_of(bounds) : parts_.string());
  return Done{};
}

Status SchemaCompiler::add_formed(StateId from, const Place& place, const Object& schema) {
  AutomatonBuilder& b = parts_.builder();
  const StateId begin = b.add(), end = b.add();
  const bool call = parts_.dialect().call;
  if (call) {
    b.token(from, parts_.dialect().quote, begin);
    b.token(end, parts_.dialect().quote, kAccept);
  } else {
    b.bytes(from, '"', '"', begin);
    b.bytes(end, '"', '"', kAccept);
  }
  const Status added = add_string_form(b, schema, call ? Writing::raw : Writing::json, begin, end);
  return added.ok() ? Status(Done{}) : Error{fmt::format("{}/{}", place.path, added.error().message)};
}

// As many as are listed, or as may be or must.
Status SchemaCompiler::add_tuple(StateId from, const Place& place, const Object& schema, const LengthBounds& bounds) {
  const auto* listed = schema.at("prefixItems").if_array();
  if (listed == nullptr || listed->empty())
    return Error{fmt::format("{}/prefixItems: expected an array of schemas", place.path)};
  const auto own = static_cast<int64_t>(listed->size());
  const int64_t count = std::min(std::max(own, bounds.low), bounds.high.value_or(INT64_MAX));
  AutomatonBuilder& b = parts_.builder();
  const Place inner = place.at(schema.at("prefixItems"), "prefixItems");
  StateId further = kNoState;
  if (const Value* items = schema.if_contains("items"); count > own && items != nullptr) {
    TRY_ASSIGN(further, part_of(place.at(*items, "items")));
  } else if (count > own) {
    further = parts_.any_value();
  }
  StateId at = b.add();
  parts_.gap(b.literal(from, "["), at);
  for (int64_t i = 0; i < count && !b.too_large(); ++i) {
    if (i > 0) {
      const StateId next = b.add();
      parts_.gap(b.literal(at, ","), next);
      at = next;
    }
    StateId item = further;
    if (i < own) {
      TRY_ASSIGN(item, part_of(inner.at((*listed)[static_cast<size_t>(i)], std::to_string(i))));
    }
    const StateId done = b.add();
    b.call(at, item, done, true);
    at = done;
  }
  const StateId close = b.add();
  parts_.gap(at, close);
  b.bytes(close, ']', ']', kAccept);
  return Done{};
}

Status SchemaCompiler::add_array(StateId from, const Place& place, const Object& schema) {
  TRY_ASSIGN(const LengthBounds bounds, length_bounds(schema, "minItems", "maxItems", place.path));
  if (schema.contains("prefixItems")) return add_tuple(from, place, schema, bounds);
  if (const Value* unique = schema.if_contains("uniqueItems"); unique != nullptr && unique->get_bool())
    return add_unique(from, place, schema, bounds);
  StateId item = kNoState;
  if (const Value* items = schema.if_contains("items")) {
    TRY_ASSIGN(item, part_of(place.at(*items, "items")));
  } else {
    item = parts_.any_value();
  }
  parts_.builder().go(from, parts_.array_of(item, bounds));
  return Done{};
}

// Which of the values have been written: a place for each set of them.
Status SchemaCompiler::add_unique(StateId from, const Place& place, const Object& schema, const LengthBounds& bounds) {
  const Value* items = &schema.at("items");
  if (const Object* fields = items->if_object(); fields != nullptr && fields->contains("$ref")) {
    TRY_ASSIGN(const auto target, find_reference(root_, fields->at("$ref"), place.path));
    items = target.schema;
  }
  const auto values = few_values(*items);
  if (!values) {
    return Error{fmt::format("{}: the keyword \"uniqueItems\" is supported for enums of up to {} values only",
                             place.path, kMaxUniqueValues)};
  }
  if (bounds.low > static_cast<int64_t>(values->size()))
    return Error{
        fmt::format("{}/minItems: more than the {} different items that there are", place.path, values->size())};
  AutomatonBuilder& b = parts_.builder();
  const StateId close = b.add();
  b.bytes(close, ']', ']', kAccept);
  // Before the next item, and behind the last one, when these have been written.
  const size_t sets = size_t{1} << values->size();
  std::vector<StateId> before(sets), behind(sets);
  for (size_t set = 0; set < sets; ++set) before[set] = b.add(), behind[set] = b.add();
  for (size_t set = 0; set < sets; ++set) {
    const int64_t count = std::popcount(set);
    if (count >= bounds.low) parts_.gap(behind[set], close);
    if (bounds.high && count >= *bounds.high) continue;
    if (set + 1 < sets) parts_.gap(b.literal(behind[set], ","), before[set]);
    for (size_t i = 0; i < values->size(); ++i) {
      const size_t with = set | size_t{1} << i;
      if (with != set) TRY(add_value(before[set], (*values)[i], behind[with], place));
    }
  }
  const StateId first = b.add();
  parts_.gap(b.literal(from, "["), first);
  b.go(first, before[0]);
  if (bounds.low == 0) b.go(first, close);
  return Done{};
}

}  // namespace paceline::grammar
