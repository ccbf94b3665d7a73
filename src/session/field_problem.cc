#include "session/field_problem.h"

namespace paceline {

FieldError bad_field(std::string field, std::string message) {
  return {.message = std::move(message), .field = std::move(field)};
}

FieldError unsupported(std::string field, std::string message) {
  return {.message = std::move(message), .field = std::move(field), .code = "unsupported"};
}

}  // namespace paceline
