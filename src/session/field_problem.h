// What is wrong with what somebody asked for, told by the field that it stands in.
#pragma once

#include <optional>
#include <string>
#include <utility>

namespace paceline {

struct FieldError {
  std::string message;
  std::optional<std::string> field = {};  // none: the whole of it
  std::string code = "invalid_value";     // a word for programs
};

FieldError bad_field(std::string field, std::string message);
// What others have and this program, or this model, does not.
FieldError unsupported(std::string field, std::string message);

// The first thing that is wrong. Readers go on with defaults behind it.
class FieldProblem {
 public:
  void say(FieldError error) {
    if (!first_) first_ = std::move(error);
  }
  [[nodiscard]] bool none() const { return !first_; }
  [[nodiscard]] const std::optional<FieldError>& first() const { return first_; }

 private:
  std::optional<FieldError> first_;
};

}  // namespace paceline
