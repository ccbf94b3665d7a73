#include "session/ask_fields.h"

#include <fmt/format.h>

#include <boost/json/parse.hpp>
#include <cmath>
#include <exception>
#include <new>

#include "base/utf8.h"

namespace paceline {
namespace {

namespace json = boost::json;

// Levels: those of the deepest schema that is read, and some around it.
constexpr size_t kMaxJsonDepth = 128;

std::string shown(const json::value& value) {
  if (value.is_bool()) return value.get_bool() ? "true" : "false";
  if (value.is_int64()) return fmt::format("{}", value.get_int64());
  if (value.is_uint64()) return fmt::format("{}", value.get_uint64());
  if (value.is_double()) return fmt::format("{}", value.get_double());
  if (value.is_string()) {
    return value.get_string().size() > 40 ? "a long string" : fmt::format("\"{}\"", std::string(value.get_string()));
  }
  return value.is_null() ? "null" : value.is_array() ? "an array" : "an object";
}

// Without an exponent or a point where it is a whole number.
std::string plain(double number) {
  const bool is_whole = number == std::floor(number) && std::abs(number) < 1e15;
  return is_whole ? fmt::format("{}", static_cast<int64_t>(number)) : fmt::format("{}", number);
}

}  // namespace

std::optional<json::value> parse_json(std::string_view text, std::string_view what, FieldProblem& problem) {
  const auto wrong = [&](std::string message) {
    problem.say({.message = std::move(message), .code = "invalid_json"});
    return std::nullopt;
  };
  if (!is_valid_utf8(text)) return wrong(fmt::format("{} must be UTF-8: it has bytes that are no characters", what));
  json::parse_options options;
  options.max_depth = kMaxJsonDepth;
  json::error_code failed;
  json::value value;
  try {
    value = json::parse(text, failed, {}, options);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception&) {
    return wrong(fmt::format("{} could not be read as JSON", what));
  }
  if (failed == json::error::too_deep) {
    return wrong(fmt::format("the JSON of {} is nested deeper than {} levels", what, kMaxJsonDepth));
  }
  if (failed) return wrong(fmt::format("{} must be JSON: {}", what, failed.message()));
  return value;
}

std::optional<json::object> parse_body(std::string_view body, FieldProblem& problem) {
  auto value = parse_json(body, "the body", problem);
  if (!value) return std::nullopt;
  if (value->is_object()) return std::move(value->get_object());
  problem.say(
      {.message = fmt::format("the body must be a JSON object, not {}", shown(*value)), .code = "invalid_json"});
  return std::nullopt;
}

std::optional<int64_t> whole_number(const json::value& value) {
  if (value.is_int64()) return value.get_int64();
  if (!value.is_double()) return std::nullopt;
  const double number = value.get_double();
  // Beyond 2^53 a double no longer tells neighbours apart.
  if (!(std::abs(number) <= 9007199254740992.0) || number != std::floor(number)) return std::nullopt;
  return static_cast<int64_t>(number);
}

std::string AskFields::path(std::string_view name) const {
  return place_.empty() ? std::string(name) : fmt::format("{}.{}", place_, name);
}

void AskFields::wrong(std::string_view name, std::string_view wanted, const json::value& found) {
  problem_->say(bad_field(path(name), fmt::format("{} must be {}, not {}", path(name), wanted, shown(found))));
}

void AskFields::missing(std::string_view name, std::string_view wanted) {
  FieldError error = bad_field(path(name), fmt::format("{} is missing: {}", path(name), wanted));
  error.code = "missing_required_parameter";
  problem_->say(std::move(error));
}

const json::value* AskFields::any(std::string_view name) {
  read_.insert(name);
  const json::value* value = object_->if_contains(name);
  return value == nullptr || value->is_null() ? nullptr : value;
}

std::optional<double> AskFields::number(std::string_view name, double low, double high) {
  const json::value* value = any(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_number()) {
    const auto number = value->to_number<double>();
    if (number >= low && number <= high) return number;
  }
  wrong(name, fmt::format("a number from {} to {}", plain(low), plain(high)), *value);
  return std::nullopt;
}

std::optional<int64_t> AskFields::integer(std::string_view name, int64_t low, int64_t high) {
  const json::value* value = any(name);
  if (value == nullptr) return std::nullopt;
  const auto number = whole_number(*value);
  if (number && *number >= low && *number <= high) return number;
  wrong(name, fmt::format("a whole number from {} to {}", low, high), *value);
  return std::nullopt;
}

std::optional<bool> AskFields::boolean(std::string_view name) {
  const json::value* value = any(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_bool()) return value->get_bool();
  wrong(name, "true or false", *value);
  return std::nullopt;
}

std::optional<std::string> AskFields::string(std::string_view name, size_t most_bytes) {
  const json::value* value = any(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_string() && value->get_string().size() <= most_bytes) return std::string(value->get_string());
  wrong(name, most_bytes == SIZE_MAX ? "a string" : fmt::format("a string of at most {} bytes", most_bytes), *value);
  return std::nullopt;
}

const json::array* AskFields::array(std::string_view name) {
  const json::value* value = any(name);
  if (value == nullptr) return nullptr;
  if (value->is_array()) return &value->get_array();
  wrong(name, "an array", *value);
  return nullptr;
}

const json::object* AskFields::object(std::string_view name) {
  const json::value* value = any(name);
  if (value == nullptr) return nullptr;
  if (value->is_object()) return &value->get_object();
  wrong(name, "an object", *value);
  return nullptr;
}

void AskFields::finish() {
  if (!problem_->none()) return;
  for (const auto& field : *object_) {
    if (read_.contains(field.key())) continue;
    const std::string name = field.key().size() > 100 ? "a field with a long name" : path(field.key());
    problem_->say_unknown(name);
  }
}

}  // namespace paceline
