#include "weights/json_fields.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <cmath>

namespace paceline {
namespace {

namespace json = boost::json;

// Deeper than any config; far from what recursion could not bear.
constexpr size_t kMaxDepth = 32;
constexpr size_t kShownBytes = 60;

}  // namespace

Result<json::value> parse_json(std::string_view text, std::string_view what) {
  json::parse_options options;
  options.max_depth = kMaxDepth;
  json::error_code error;
  json::value value = json::parse({text.data(), text.size()}, error, {}, options);
  if (error) return Error{fmt::format("{}: expected JSON: {}", what, error.message())};
  return value;
}

Result<json::object> parse_json_object(std::string_view text, std::string_view what) {
  TRY_ASSIGN(json::value value, parse_json(text, what));
  if (!value.is_object()) return Error{fmt::format("{}: expected an object, found {}", what, json_text(value))};
  return std::move(value.get_object());
}

std::string json_text(const json::value& value) {
  switch (value.kind()) {
    case json::kind::null: return "null";
    case json::kind::array: return fmt::format("an array of {}", value.get_array().size());
    case json::kind::object: return "an object";
    case json::kind::string: {
      const auto& text = value.get_string();
      const bool whole = text.size() <= kShownBytes;
      return fmt::format("\"{}{}\"", std::string_view(text.data(), whole ? text.size() : kShownBytes),
                         whole ? "" : "…");
    }
    case json::kind::bool_: return value.get_bool() ? "true" : "false";
    case json::kind::int64: return fmt::format("{}", value.get_int64());
    case json::kind::uint64: return fmt::format("{}", value.get_uint64());
    case json::kind::double_: return fmt::format("{}", value.get_double());
  }
  return "?";
}

std::optional<int64_t> json_integer(const json::value& value) {
  if (value.is_int64()) return value.get_int64();
  if (!value.is_double()) return std::nullopt;
  // Below 2^53 a double holds every integer exactly.
  const double number = value.get_double();
  if (std::floor(number) != number || std::abs(number) > 0x1p53) return std::nullopt;
  return static_cast<int64_t>(number);
}

std::string JsonFields::path_of(std::string_view name) const {
  return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
}

const json::value* JsonFields::find(std::string_view name) const {
  const json::value* value = object_->if_contains({name.data(), name.size()});
  return value == nullptr || value->is_null() ? nullptr : value;
}

Error JsonFields::wrong(std::string_view name, std::string_view expected) const {
  const json::value* value = object_->if_contains({name.data(), name.size()});
  return Error{fmt::format("{}: expected {}, found {}", path_of(name), expected,
                           value == nullptr ? "nothing" : json_text(*value))};
}

Result<int64_t> JsonFields::integer(std::string_view name, int64_t least, int64_t most) const {
  const json::value* value = find(name);
  const auto number = value == nullptr ? std::nullopt : json_integer(*value);
  if (!number || *number < least || *number > most) {
    return wrong(name, fmt::format("a whole number from {} to {}", least, most));
  }
  return *number;
}

Result<int64_t> JsonFields::integer_or(std::string_view name, int64_t otherwise, int64_t least, int64_t most) const {
  if (find(name) == nullptr) return otherwise;
  return integer(name, least, most);
}

Result<double> JsonFields::number_or(std::string_view name, double otherwise, double least, double most) const {
  const json::value* value = find(name);
  if (value == nullptr) return otherwise;
  json::error_code error;
  const auto number = value->to_number<double>(error);
  // Written so that NaN, too, is out of range.
  if (error || !(number >= least && number <= most)) {
    return wrong(name, fmt::format("a number from {} to {}", least, most));
  }
  return number;
}

Result<bool> JsonFields::boolean_or(std::string_view name, bool otherwise) const {
  const json::value* value = find(name);
  if (value == nullptr) return otherwise;
  if (!value->is_bool()) return wrong(name, "true or false");
  return value->get_bool();
}

Result<std::string> JsonFields::text(std::string_view name) const {
  const json::value* value = find(name);
  if (value == nullptr || !value->is_string()) return wrong(name, "a string");
  const auto& text = value->get_string();
  return std::string(text.data(), text.size());
}

Result<std::string> JsonFields::text_or(std::string_view name, std::string_view otherwise) const {
  if (find(name) == nullptr) return std::string(otherwise);
  return text(name);
}

Result<std::optional<JsonFields>> JsonFields::object_if_any(std::string_view name) const {
  const json::value* value = find(name);
  if (value == nullptr) return std::optional<JsonFields>();
  if (!value->is_object()) return wrong(name, "an object");
  return std::optional<JsonFields>(JsonFields(value->get_object(), path_of(name)));
}

}  // namespace paceline
