#include "session/field_problem.h"

#include <fmt/format.h>

namespace paceline {

void FieldProblem::say_unknown(std::string field) {
  if (ignores_unknown_) return leave_out(std::move(field));
  FieldError error = bad_field(field, fmt::format("{} is not known here", field));
  error.code = "unknown_parameter";
  say(std::move(error));
}

FieldError bad_field(std::string field, std::string message) {
  return {.message = std::move(message), .field = std::move(field)};
}

FieldError bad_field(std::string field, const Error& error) {
  FieldError made = bad_field(std::move(field), error.message);
  if (*error.code != 0) made.code = error.code;
  return made;
}

FieldError unsupported(std::string field, std::string message) {
  return {.message = std::move(message), .field = std::move(field), .code = "unsupported"};
}

}  // namespace paceline
