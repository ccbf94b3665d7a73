// Reading a JSON document field by field, as hostile input: every read says what it expects, and an error names the
// field by its path, what was expected and what was found. Nothing here throws.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace paceline {

// `what` names the document in errors: "config.json".
Result<boost::json::value> parse_json(std::string_view text, std::string_view what);

// As parse_json, where the document has to be an object.
Result<boost::json::object> parse_json_object(std::string_view text, std::string_view what);

// Short, for messages: numbers and strings as they are, the rest by kind.
std::string json_text(const boost::json::value& value);

// A view of one object; the object outlives it. In all reads null counts as absent.
class JsonFields {
 public:
  JsonFields(const boost::json::object& object, std::string path) : object_(&object), path_(std::move(path)) {}

  [[nodiscard]] const boost::json::object& object() const { return *object_; }
  [[nodiscard]] std::string path_of(std::string_view name) const;

  // nullptr where absent or null.
  [[nodiscard]] const boost::json::value* find(std::string_view name) const;

  Result<int64_t> integer(std::string_view name, int64_t least, int64_t most) const;
  Result<int64_t> integer_or(std::string_view name, int64_t otherwise, int64_t least, int64_t most) const;
  Result<double> number_or(std::string_view name, double otherwise, double least, double most) const;
  Result<bool> boolean_or(std::string_view name, bool otherwise) const;
  Result<std::string> text(std::string_view name) const;
  Result<std::string> text_or(std::string_view name, std::string_view otherwise) const;
  Result<std::optional<JsonFields>> object_if_any(std::string_view name) const;

  [[nodiscard]] Error wrong(std::string_view name, std::string_view expected) const;

 private:
  const boost::json::object* object_;
  std::string path_;
};

// An integer, or a double that holds one.
std::optional<int64_t> json_integer(const boost::json::value& value);

}  // namespace paceline
