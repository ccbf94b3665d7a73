// Reading JSON objects field by field, with errors that say where, what was expected and what was found.
#pragma once

#include <boost/json/value.hpp>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/result.h"

namespace paceline {

// "null", "a boolean", "a number", "a string", "an array", "an object", or "nothing" for a null pointer.
std::string_view json_kind(const boost::json::value* value);

// An object, and what it is called in errors ("decoder.decoders[1]").
class TextJsonFields {
 public:
  static Result<TextJsonFields> of(const boost::json::value* value, std::string place);

  [[nodiscard]] const std::string& place() const { return place_; }
  [[nodiscard]] const boost::json::object& object() const { return *object_; }
  // Null where the field is missing.
  [[nodiscard]] const boost::json::value* find(std::string_view name) const { return object_->if_contains(name); }
  // Missing or null.
  [[nodiscard]] bool is_absent(std::string_view name) const;

  [[nodiscard]] Result<std::string_view> string(std::string_view name) const;
  [[nodiscard]] Result<int64_t> integer(std::string_view name, int64_t lowest, int64_t highest) const;
  [[nodiscard]] Result<bool> boolean(std::string_view name) const;
  [[nodiscard]] Result<bool> boolean_or(std::string_view name, bool otherwise) const;
  [[nodiscard]] Result<const boost::json::array*> array(std::string_view name) const;
  [[nodiscard]] Result<TextJsonFields> fields(std::string_view name) const;

  // Refuses a field that is none of these.
  [[nodiscard]] Status only(std::initializer_list<std::string_view> names) const;

  [[nodiscard]] Error expected(std::string_view name, std::string_view wanted) const;

 private:
  TextJsonFields(const boost::json::object* object, std::string place) : object_(object), place_(std::move(place)) {}

  const boost::json::object* object_;
  std::string place_;
};

}  // namespace paceline
