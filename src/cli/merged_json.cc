#include <fmt/format.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cmath>

#include "cli/merged_file.h"

namespace paceline {
namespace {

namespace json = boost::json;

void join(json::object& into, const json::object& from, std::string_view ours) {
  for (const auto& [key, value] : from) {
    json::value* old = into.if_contains(key);
    if (old != nullptr && old->is_object() && value.is_object() && std::string_view(key) != ours) {
      join(old->get_object(), value.get_object(), ours);
    } else {
      into[key] = value;
    }
  }
}

// What cannot be written again as it was read.
bool has_endless_number(const json::value& value) {
  if (const auto* object = value.if_object())
    return std::any_of(object->begin(), object->end(), [](const auto& one) { return has_endless_number(one.value()); });
  if (const auto* array = value.if_array()) return std::any_of(array->begin(), array->end(), has_endless_number);
  return value.is_double() && !std::isfinite(value.get_double());
}

// As people write it: a line for each value, two blanks for each level.
void write(std::string& text, const json::value& value, size_t level) {
  const std::string border = "\n" + std::string(2 * level + 2, ' ');
  const char* between = "";
  if (const auto* object = value.if_object(); object != nullptr && !object->empty()) {
    text += '{';
    for (const auto& [key, member] : *object) {
      text += between + border + json::serialize(json::string(key)) + ": ";
      write(text, member, level + 1);
      between = ",";
    }
    text += border.substr(0, border.size() - 2) + '}';
  } else if (const auto* array = value.if_array(); array != nullptr && !array->empty()) {
    text += '[';
    for (const json::value& element : *array) {
      text += between + border;
      write(text, element, level + 1);
      between = ",";
    }
    text += border.substr(0, border.size() - 2) + ']';
  } else {
    text += json::serialize(value);
  }
}

}  // namespace

Result<std::string> merged_json(std::string_view old, std::string_view ours_text, std::string_view ours) {
  json::error_code failed;
  json::parse_options options;
  options.allow_comments = options.allow_trailing_commas = true;
  const bool is_empty = old.find_first_not_of(" \t\r\n") == std::string_view::npos;
  json::value made = is_empty ? json::value(json::object()) : json::parse(old, failed, {}, options);
  if (failed) return Error{fmt::format("expected JSON, found something else ({})", failed.message())};
  if (has_endless_number(made)) return Error{"expected numbers of a double's range, found a larger one"};
  if (!made.is_object()) return Error{"expected a JSON object, found another value"};
  join(made.get_object(), json::parse(ours_text).as_object(), ours);
  std::string text;
  write(text, made, 0);
  return text + "\n";
}

}  // namespace paceline
