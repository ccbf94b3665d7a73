// Reading what is asked for in JSON, field by field. What is wrong is said once, with the field's name; a field that
// nobody read is unknown, so that a misspelt one is not passed over in silence.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "session/field_problem.h"

namespace paceline {

// Any JSON that is valid UTF-8 and not too deep. `what`: how it is called in messages. None: the problem has been said.
std::optional<boost::json::value> parse_json(std::string_view text, std::string_view what, FieldProblem& problem);
// A request's body: the same, and an object.
std::optional<boost::json::object> parse_body(std::string_view body, FieldProblem& problem);

class AskFields {
 public:
  // `place`: how the object is called in messages; "" for the body itself.
  AskFields(const boost::json::object& object, std::string place, FieldProblem& problem)
      : object_(&object), place_(std::move(place)), problem_(&problem) {}

  // Each is none where the field is missing or null, and where it is wrong, which is then said.
  std::optional<double> number(std::string_view name, double low, double high);
  std::optional<int64_t> integer(std::string_view name, int64_t low, int64_t high);
  std::optional<bool> boolean(std::string_view name);
  std::optional<std::string> string(std::string_view name, size_t most_bytes = SIZE_MAX);
  const boost::json::array* array(std::string_view name);
  const boost::json::object* object(std::string_view name);
  const boost::json::value* any(std::string_view name);

  // Fields that are part of the protocol and change nothing here.
  void ignore(std::initializer_list<std::string_view> names) { read_.insert(names.begin(), names.end()); }
  // All that is known has been read: what is left is not.
  void finish();

  [[nodiscard]] std::string path(std::string_view name) const;
  // "FIELD must be WANTED, not what it is".
  void wrong(std::string_view name, std::string_view wanted, const boost::json::value& found);
  void missing(std::string_view name, std::string_view wanted);
  [[nodiscard]] FieldProblem& problem() { return *problem_; }

 private:
  const boost::json::object* object_;
  std::string place_;
  FieldProblem* problem_;
  std::set<std::string_view> read_;
};

// A whole number, also where it is written as 3.0.
std::optional<int64_t> whole_number(const boost::json::value& value);

}  // namespace paceline
