// Objects of a schema: which members they have, in which order, and how their names are written.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json/object.hpp>

#include "base/utf8.h"
#include "grammar/regex_texts.h"
#include "grammar/schema.h"
#include "grammar/schema_fields.h"
#include "grammar/string_pattern.h"

namespace paceline::grammar {

Status SchemaCompiler::check_name(std::string_view name, const Place& place) const {
  if (!parts_.dialect().call) return check_text(name, false, place.path);
  // Keys are bare in a call, so they must not hold what ends them.
  const bool plain = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return static_cast<uint8_t>(c) > ' ' && std::string_view(":,{}[]<>\"'\\\x7F").find(c) == std::string_view::npos;
  });
  if (plain && is_valid_utf8(name)) return Done{};
  return Error{fmt::format("{}: the name {} cannot be written in a tool call", place.path, json_quoted(shown(name)))};
}

// Before anything is made of them.
Status SchemaCompiler::check_properties(const Place& place, const Object& listed, const Names& required) {
  size_t count = listed.size(), bytes = 0;
  if (count <= kMaxProperties) {
    for (const auto& member : listed) bytes += member.key().size();
  }
  for (const std::string_view name : required) {
    if (listed.contains(name)) continue;
    ++count;
    bytes += name.size();
  }
  if (count > kMaxProperties) {
    return Error{fmt::format("{}/properties: {} of them; at most {} are supported", place.path, count, kMaxProperties)};
  }
  // Each byte of a name is a state.
  if (bytes > kMaxStates) {
    return Error{fmt::format("{}/properties: the names are too large: more than {} bytes", place.path, kMaxStates)};
  }
  return Done{};
}

Result<std::vector<SchemaCompiler::Property>> SchemaCompiler::properties(const Place& place, const Object& schema,
                                                                         StateId additional,
                                                                         const std::vector<NamePattern>& patterns) {
  TRY_ASSIGN(const std::vector<std::string_view> required, required_names(schema, place.path));
  const Names needed(required.begin(), required.end());
  const Object none, *members = &none;
  Place inner = place;
  if (const Value* listed = schema.if_contains("properties")) {
    members = listed->if_object();
    if (members == nullptr) return Error{fmt::format("{}/properties: expected an object", place.path)};
    inner = place.at(*listed, "properties");
  }
  TRY(check_properties(place, *members, needed));
  std::vector<Property> found;
  for (const auto& [name, value] : *members) {
    const Place member = inner.at(value, name);
    TRY(check_name(name, member));
    TRY_ASSIGN(const StateId part, part_of(member));
    found.push_back({name, part, needed.contains(name)});
  }
  Names unlisted;
  TRY_ASSIGN(const std::vector<const Value*> by_patterns, schemas_of_names(patterns, required));
  for (size_t i = 0; i < required.size(); ++i) {
    const std::string_view name = required[i];
    if (members->contains(name) || !unlisted.insert(name).second) continue;
    TRY(check_name(name, place));
    const Value* by_pattern = by_patterns[i];
    if (by_pattern != nullptr) {
      TRY_ASSIGN(const StateId part, part_of(place.at(*by_pattern, "patternProperties")));
      found.push_back({name, part, true});
      continue;
    }
    if (additional == kNoState && schema.contains("additionalProperties")) {
      return Error{fmt::format("{}/required: {} is neither listed nor allowed", place.path, json_quoted(shown(name)))};
    }
    found.push_back({name, additional == kNoState ? parts_.any_value() : additional, true});
  }
  if (parts_.dialect().call) sort_like_templates(found, [](const Property& p) { return p.name; });
  return found;
}

Status SchemaCompiler::add_object(StateId from, const Place& place, const Object& schema) {
  const bool lists =
      schema.contains("properties") || schema.contains("required") || schema.contains("patternProperties");
  TRY_ASSIGN(const LengthBounds count, length_bounds(schema, "minProperties", "maxProperties", place.path));
  StateId additional = kNoState;
  if (const Value* allowed = schema.if_contains("additionalProperties")) {
    if (!allowed->is_bool() || allowed->get_bool()) {
      TRY_ASSIGN(additional, part_of(place.at(*allowed, "additionalProperties")));
    }
  } else if (!lists && count.low == 0) {
    parts_.builder().go(from, parts_.any_object());
    return Done{};
  } else if (!lists) {
    additional = parts_.any_value();
  }
  TRY_ASSIGN(std::vector<NamePattern> patterns, name_patterns(schema));
  TRY_ASSIGN(const std::vector<Property> listed, properties(place, schema, additional, patterns));
  TRY_ASSIGN(const std::vector<Patterned> more, patterned(place, std::move(patterns)));
  if (count.low > 1 || count.high) {
    const Status counted = add_counted(from, listed, count);
    return counted.ok() ? counted : Error{fmt::format("{}: {}", place.path, counted.error().message)};
  }
  return add_members(from, listed, more.empty() ? additional : kNoState, more, place, count.low == 0);
}

Result<std::vector<SchemaCompiler::Patterned>> SchemaCompiler::patterned(const Place& place,
                                                                         std::vector<NamePattern> patterns) {
  std::vector<Patterned> found;
  for (NamePattern& pattern : patterns) {
    if (pattern.schema->is_bool() && !pattern.schema->get_bool()) continue;  // such names are not written
    TRY_ASSIGN(const StateId value, part_of(place.at(*pattern.schema, "patternProperties")));
    found.push_back({std::move(pattern.names), value});
  }
  return found;
}

// The name, up to what stands behind it.
Status SchemaCompiler::add_patterned(StateId from, const Patterned& member, StateId colon, const Place& place) {
  AutomatonBuilder& b = parts_.builder();
  const StateId begin = b.add(), end = b.add();
  if (!parts_.dialect().call) {
    const Status added = add_pattern(b, member.names, Writing::json, begin, end);
    if (!added.ok()) return Error{fmt::format("{}/patternProperties: {}", place.path, added.error().message)};
    b.bytes(from, '"', '"', begin);
    b.bytes(end, '"', '"', colon);
    return Done{};
  }
  // A bare name of letters, digits, and what else stands in names; where there is none, none is written.
  static const std::vector<CodeRange> kBare = {{'-', '.'}, {'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
  const RegexNode bare = within(member.names, kBare);
  if (may_be_empty(bare) || !add_pattern(b, bare, Writing::raw, begin, end).ok()) return Done{};
  b.go(from, begin);
  b.go(end, colon);
  return Done{};
}

// For each number of listed properties that are behind: `key` before one of the rest, `done` behind a value.
Status SchemaCompiler::add_members(StateId from, const std::vector<Property>& properties, StateId additional,
                                   const std::vector<Patterned>& patterned, const Place& place, bool may_be_empty) {
  AutomatonBuilder& b = parts_.builder();
  const StateId close = b.add();
  b.bytes(close, '}', '}', kAccept);
  const StateId last_key = b.add(), last_done = b.add();
  parts_.gap(last_done, close);
  const auto add_value_of = [&](StateId colon, StateId value, StateId done) {
    const StateId before = b.add();
    parts_.blank(b.literal(colon, ":"), before);
    b.call(before, value, done, true);
  };
  if (additional != kNoState) {
    std::vector<std::string> taken;
    for (const Property& property : properties) taken.emplace_back(property.name);
    const StateId colon = b.add();
    b.call(last_key, parts_.free_key(std::move(taken)), colon, false);
    add_value_of(colon, additional, last_done);
  }
  for (const Patterned& member : patterned) {
    const StateId colon = b.add();
    TRY(add_patterned(last_key, member, colon, place));
    add_value_of(colon, member.value, last_done);
  }
  if (additional != kNoState || !patterned.empty()) parts_.gap(b.literal(last_done, ","), last_key);
  StateId next_key = last_key, next_done = last_done;
  bool may_close = true;
  for (auto property = properties.rbegin(); property != properties.rend(); ++property) {
    const StateId key = b.add(), done = b.add();
    add_value_of(b.literal(key, parts_.key_literal(property->name)), property->value, next_done);
    if (!property->required) b.go(key, next_key);
    may_close = may_close && !property->required;
    if (may_close) parts_.gap(done, close);
    parts_.gap(b.literal(done, ","), key);
    next_key = key;
    next_done = done;
  }
  const StateId first = b.add();
  parts_.gap(b.literal(from, "{"), first);
  b.go(first, next_key);
  if (may_close && may_be_empty) b.go(first, close);
  return Done{};
}

// The same of listed ones alone, with how many have been written: `key` before one of those from `at` on, `done` behind
// a value.
Status SchemaCompiler::add_counted(StateId from, const std::vector<Property>& properties, const LengthBounds& count) {
  AutomatonBuilder& b = parts_.builder();
  const auto all = static_cast<int64_t>(properties.size());
  const int64_t most = std::min(count.high.value_or(all), all);
  const auto needed = [&](int64_t at) {
    return std::count_if(properties.begin() + at, properties.end(), [](const Property& p) { return p.required; });
  };
  const auto can_be = [&](int64_t at, int64_t written) {
    return written <= at && written + all - at >= count.low && written + needed(at) <= most;
  };
  if (!can_be(0, 0)) return Error{"minProperties, maxProperties: no object with these properties has so many"};
  const StateId close = b.add();
  b.bytes(close, '}', '}', kAccept);
  std::vector<StateId> next_key(static_cast<size_t>(all) + 2, kNoState), next_done = next_key;
  for (int64_t at = all; at >= 0 && !b.too_large(); --at) {
    std::vector<StateId> key(next_key.size(), kNoState), done = key;
    for (int64_t written = 0; written <= at; ++written) {
      const auto i = static_cast<size_t>(written);
      if (!can_be(at, written)) continue;
      key[i] = b.add();
      done[i] = b.add();
      if (written >= count.low && needed(at) == 0) parts_.gap(done[i], close);
      if (at == all) continue;
      if (written < most) parts_.gap(b.literal(done[i], ","), key[i]);
      const Property& property = properties[static_cast<size_t>(at)];
      if (!property.required && next_key[i] != kNoState) b.go(key[i], next_key[i]);
      if (next_done[i + 1] == kNoState) continue;
      const StateId before = b.add();
      parts_.blank(b.literal(key[i], parts_.key_literal(property.name) + ":"), before);
      b.call(before, property.value, next_done[i + 1], true);
    }
    next_key = std::move(key);
    next_done = std::move(done);
  }
  const StateId first = b.add();
  parts_.gap(b.literal(from, "{"), first);
  if (next_key[0] != kNoState) b.go(first, next_key[0]);
  if (count.low == 0 && needed(0) == 0) b.go(first, close);
  return Done{};
}

}  // namespace paceline::grammar
