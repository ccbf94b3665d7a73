// What is wrong with what somebody asked for, told by the field that it stands in.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace paceline {

struct FieldError {
  std::string message;
  std::optional<std::string> field = {};  // none: the whole of it
  std::string code = "invalid_value";     // a word for programs
  // Of a prompt that is too long: how many there are, at least, and how many may be.
  size_t tokens = 0, most_tokens = 0;
};

FieldError bad_field(std::string field, std::string message);
// With the word that the error has for programs, if it has one.
FieldError bad_field(std::string field, const Error& error);
// What others have and this program, or this model, does not.
FieldError unsupported(std::string field, std::string message);

// The first thing that is wrong. Readers go on with defaults behind it.
class FieldProblem {
 public:
  FieldProblem() = default;
  // ignores_unknown: a field that nobody knows is noted, and is nothing wrong.
  explicit FieldProblem(bool ignores_unknown) : ignores_unknown_(ignores_unknown) {}

  void say(FieldError error) {
    if (!first_) first_ = std::move(error);
  }
  // Nobody knows the field.
  void say_unknown(std::string field);
  // What was asked for and left out, although it is known: of no consequence for the text.
  void leave_out(std::string what) {
    if (left_out_.size() < kMostLeftOut) left_out_.push_back(std::move(what));
  }
  // Both of them, a few.
  [[nodiscard]] const std::vector<std::string>& left_out() const { return left_out_; }

  [[nodiscard]] bool none() const { return !first_; }
  [[nodiscard]] const std::optional<FieldError>& first() const { return first_; }

 private:
  static constexpr size_t kMostLeftOut = 32;
  bool ignores_unknown_ = false;
  std::optional<FieldError> first_;
  std::vector<std::string> left_out_;
};

}  // namespace paceline
