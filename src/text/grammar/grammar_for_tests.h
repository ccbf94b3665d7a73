// What the tests of grammars share: reading a text byte by byte, a validator of our own, and random walks.
#pragma once

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "text/grammar/constraint.h"
#include "text/grammar/documents.h"
#include "text/grammar/matcher.h"
#include "text/tokenizers_for_tests.h"

namespace paceline::grammar {

inline boost::json::value parsed(std::string_view text) {
  boost::json::parse_options options;
  options.max_depth = 1000;
  boost::json::error_code failed;
  auto value = boost::json::parse(text, failed, {}, options);
  EXPECT_FALSE(failed) << failed.message() << ": " << text;
  return value;
}

inline Automaton schema_automaton(std::string_view schema) {
  auto made = json_schema_grammar(parsed(schema));
  if (!made.ok()) {
    ADD_FAILURE() << made.error().message << ": " << schema;
    std::abort();
  }
  return std::move(made).value();
}

enum class Reading { no, open, complete };

inline Reading reading(const Automaton& automaton, std::string_view text) {
  Matcher matcher(automaton);
  SetId position = matcher.start();
  for (const char byte : text) position = matcher.step(position, static_cast<uint8_t>(byte));
  if (matcher.complete(position)) return Reading::complete;
  return position == kDead ? Reading::no : Reading::open;
}

// Straight from the specification of JSON Schema, for the keywords that schema.h lists.
inline bool satisfies(const boost::json::value& value, const boost::json::value& schema,
                      const boost::json::value& root) {
  if (schema.is_bool()) return schema.get_bool();
  const auto& said = schema.get_object();
  const auto find = [&](std::string_view name) { return said.if_contains(name); };
  if (const auto* ref = find("$ref")) {
    boost::json::error_code failed;
    return satisfies(value, *root.find_pointer(std::string(ref->get_string()).substr(1), failed), root);
  }
  for (const char* name : {"anyOf", "oneOf", "allOf"}) {
    if (const auto* list = find(name)) {
      bool any = false;
      for (const auto& one : list->get_array()) any = any || satisfies(value, one, root);
      if (!any) return false;
    }
  }
  if (const auto* list = find("enum")) {
    bool any = false;
    for (const auto& one : list->get_array()) any = any || one == value;
    if (!any) return false;
  }
  if (const auto* only = find("const"); only != nullptr && *only != value) return false;
  if (const auto* type = find("type")) {
    const auto is = [&](std::string_view name) {
      if (name == "object") return value.is_object();
      if (name == "array") return value.is_array();
      if (name == "string") return value.is_string();
      if (name == "number") return value.is_number();
      if (name == "integer") return value.is_int64() || value.is_uint64();
      if (name == "boolean") return value.is_bool();
      return value.is_null();
    };
    bool any = false;
    if (type->is_string()) any = is(type->get_string());
    if (type->is_array()) {
      for (const auto& one : type->get_array()) any = any || is(one.get_string());
    }
    if (!any) return false;
  }
  const auto number = [&](const boost::json::value* v) { return v->to_number<double>(); };
  if (value.is_number()) {
    const double at = value.to_number<double>();
    if (!std::isfinite(at)) return false;
    if (const auto* low = find("minimum"); low && at < number(low)) return false;
    if (const auto* high = find("maximum"); high && at > number(high)) return false;
    if (const auto* low = find("exclusiveMinimum"); low && at <= number(low)) return false;
    if (const auto* high = find("exclusiveMaximum"); high && at >= number(high)) return false;
  }
  const auto within = [&](size_t count, const char* low, const char* high) {
    if (find(low) && count < static_cast<size_t>(find(low)->get_int64())) return false;
    return !(find(high) && count > static_cast<size_t>(find(high)->get_int64()));
  };
  if (const auto* text = value.if_string()) {
    size_t characters = 0;
    for (const char c : *text) characters += (static_cast<uint8_t>(c) & 0xC0) != 0x80;
    if (!within(characters, "minLength", "maxLength")) return false;
  }
  if (const auto* list = value.if_array()) {
    if (!within(list->size(), "minItems", "maxItems")) return false;
    for (const auto& item : *list) {
      if (find("items") && !satisfies(item, *find("items"), root)) return false;
    }
  }
  if (const auto* object = value.if_object()) {
    if (const auto* required = find("required")) {
      for (const auto& name : required->get_array()) {
        if (!object->contains(name.get_string())) return false;
      }
    }
    const auto* listed = find("properties");
    for (const auto& [name, member] : *object) {
      const auto* own = listed ? listed->get_object().if_contains(name) : nullptr;
      const auto* other = find("additionalProperties");
      if (own && !satisfies(member, *own, root)) return false;
      if (!own && other && !satisfies(member, *other, root)) return false;
    }
  }
  return true;
}

inline bool is_set(std::span<const uint64_t> bits, TokenId id) {
  return static_cast<size_t>(id) / 64 < bits.size() && (bits[id / 64] >> (id % 64) & 1) != 0;
}

inline std::vector<TokenId> ids_of(std::span<const uint64_t> bits) {
  std::vector<TokenId> ids;
  for (size_t word = 0; word < bits.size(); ++word) {
    for (uint64_t left = bits[word]; left != 0; left &= left - 1) {
      ids.push_back(static_cast<TokenId>(word * 64 + static_cast<size_t>(__builtin_ctzll(left))));
    }
  }
  return ids;
}

inline std::shared_ptr<const TokenConstraint> constraint_of(Automaton automaton,
                                                            std::shared_ptr<const TokenIndex> index, TokenId end) {
  auto made = GrammarConstraint::make(std::move(automaton), std::move(index), {end});
  EXPECT_TRUE(made.ok());
  return std::move(made).value();
}

}  // namespace paceline::grammar
