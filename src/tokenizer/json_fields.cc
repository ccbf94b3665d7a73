#include "tokenizer/json_fields.h"

#include <fmt/core.h>

#include <algorithm>

namespace paceline {

namespace json = boost::json;

std::string_view json_kind(const json::value* value) {
  if (value == nullptr) return "nothing";
  switch (value->kind()) {
    case json::kind::null: return "null";
    case json::kind::bool_: return "a boolean";
    case json::kind::int64:
    case json::kind::uint64:
    case json::kind::double_: return "a number";
    case json::kind::string: return "a string";
    case json::kind::array: return "an array";
    case json::kind::object: return "an object";
  }
  return "something else";
}

Result<TextJsonFields> TextJsonFields::of(const json::value* value, std::string place) {
  if (value == nullptr || !value->is_object()) {
    return Error{fmt::format("{}: expected an object, found {}", place, json_kind(value))};
  }
  return TextJsonFields(&value->get_object(), std::move(place));
}

bool TextJsonFields::is_absent(std::string_view name) const {
  const json::value* value = find(name);
  return value == nullptr || value->is_null();
}

Error TextJsonFields::expected(std::string_view name, std::string_view wanted) const {
  const json::value* value = find(name);
  std::string found(json_kind(value));
  // The value itself says more, where it is small.
  if (value != nullptr && value->is_string() && value->get_string().size() <= 64) {
    found = fmt::format("\"{}\"", std::string_view(value->get_string()));
  } else if (value != nullptr && value->is_int64()) {
    found = fmt::format("{}", value->get_int64());
  } else if (value != nullptr && value->is_bool()) {
    found = value->get_bool() ? "true" : "false";
  }
  return Error{fmt::format("{}.{}: expected {}, found {}", place_, name, wanted, found)};
}

Result<std::string_view> TextJsonFields::string(std::string_view name) const {
  const json::value* value = find(name);
  if (value == nullptr || !value->is_string()) return expected(name, "a string");
  return std::string_view(value->get_string());
}

Result<int64_t> TextJsonFields::integer(std::string_view name, int64_t lowest, int64_t highest) const {
  const json::value* value = find(name);
  if (value == nullptr || !value->is_int64() || value->get_int64() < lowest || value->get_int64() > highest) {
    return expected(name, fmt::format("a whole number from {} to {}", lowest, highest));
  }
  return value->get_int64();
}

Result<bool> TextJsonFields::boolean(std::string_view name) const {
  const json::value* value = find(name);
  if (value == nullptr || !value->is_bool()) return expected(name, "a boolean");
  return value->get_bool();
}

Result<bool> TextJsonFields::boolean_or(std::string_view name, bool otherwise) const {
  if (is_absent(name)) return otherwise;
  return boolean(name);
}

Result<const json::array*> TextJsonFields::array(std::string_view name) const {
  const json::value* value = find(name);
  if (value == nullptr || !value->is_array()) return expected(name, "an array");
  return &value->get_array();
}

Result<TextJsonFields> TextJsonFields::fields(std::string_view name) const {
  return of(find(name), fmt::format("{}.{}", place_, name));
}

Status TextJsonFields::only(std::initializer_list<std::string_view> names) const {
  for (const auto& field : *object_) {
    const std::string_view name = field.key();
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    std::string known;
    for (const std::string_view each : names) known.append(known.empty() ? "" : ", ").append(each);
    return Error{fmt::format("{}: expected no fields but {}; found \"{}\"", place_, known, name)};
  }
  return Done{};
}

}  // namespace paceline
