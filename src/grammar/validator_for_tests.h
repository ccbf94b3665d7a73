// A validator of our own, for tests and fuzzers to compare grammars with.
#pragma once

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <regex>
#include <string>
#include <string_view>

namespace paceline::grammar {

// Numbers by what they are worth, however they are written.
inline bool same_value(const boost::json::value& a, const boost::json::value& b) {
  if (a.is_number() && b.is_number()) return a.to_number<double>() == b.to_number<double>();
  if (a.is_array() && b.is_array()) {
    return std::equal(a.get_array().begin(), a.get_array().end(), b.get_array().begin(), b.get_array().end(),
                      same_value);
  }
  if (a.is_object() && b.is_object()) {
    return a.get_object().size() == b.get_object().size() &&
           std::all_of(a.get_object().begin(), a.get_object().end(), [&](const auto& member) {
             const auto* other = b.get_object().if_contains(member.key());
             return other != nullptr && same_value(member.value(), *other);
           });
  }
  return a == b;
}

// Straight from the specification of JSON Schema, for the keywords that schema.h lists.
inline bool satisfies(const boost::json::value& value, const boost::json::value& schema, const boost::json::value& root,
                      int depth = 0, int* left = nullptr) {
  // Schemas that only lead to themselves say nothing; those that do in several ways take forever to say it. Who sets a
  // number of steps in `left` is told yes when they are used up.
  if (left != nullptr && --*left < 0) return true;
  if (depth > 200) return false;
  if (schema.is_bool()) return schema.get_bool();
  const auto& said = schema.get_object();
  const auto find = [&](std::string_view name) { return said.if_contains(name); };
  if (const auto* ref = find("$ref")) {
    boost::json::error_code failed;
    return satisfies(value, *root.find_pointer(std::string(ref->get_string()).substr(1), failed), root, depth + 1,
                     left);
  }
  for (const char* name : {"anyOf", "oneOf", "allOf"}) {
    if (const auto* list = find(name)) {
      bool any = false;
      for (const auto& one : list->get_array()) any = any || satisfies(value, one, root, depth + 1, left);
      if (!any) return false;
    }
  }
  if (const auto* list = find("enum")) {
    bool any = false;
    for (const auto& one : list->get_array()) any = any || same_value(one, value);
    if (!any) return false;
  }
  if (const auto* only = find("const"); only != nullptr && !same_value(*only, value)) return false;
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
      if (find("items") && !satisfies(item, *find("items"), root, depth + 1, left)) return false;
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
      if (const auto* patterns = find("patternProperties")) {
        bool any = own != nullptr;
        for (const auto& [pattern, obeyed] : patterns->get_object()) {
          if (!std::regex_search(std::string(name), std::regex(std::string(pattern)))) continue;
          any = true;
          if (!satisfies(member, obeyed, root, depth + 1, left)) return false;
        }
        if (any) other = nullptr;
      }
      if (own && !satisfies(member, *own, root, depth + 1, left)) return false;
      if (!own && other && !satisfies(member, *other, root, depth + 1, left)) return false;
    }
  }
  return true;
}

}  // namespace paceline::grammar
