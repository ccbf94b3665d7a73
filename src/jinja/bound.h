// Arguments put to the names of a function's parameters.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jinja/value.h"

namespace paceline::jinja {

class Bound {
 public:
  // The first `required` must be given. What has a name that begins with '/' cannot be given by name.
  static Result<Bound> of(std::string_view function, const Arguments& arguments,
                          std::initializer_list<std::string_view> names, size_t required = 0);

  // Null where it was not given.
  [[nodiscard]] const Value* operator[](size_t i) const { return values_[i]; }
  // Not given, or None.
  [[nodiscard]] bool is_absent(size_t i) const { return values_[i] == nullptr || values_[i]->is_none(); }
  [[nodiscard]] bool truth(size_t i, bool otherwise) const;
  [[nodiscard]] Result<int64_t> integer(size_t i, int64_t otherwise) const;
  [[nodiscard]] Result<std::string_view> string(size_t i, std::string_view otherwise) const;

 private:
  std::string function_;
  std::vector<const Value*> values_;  // into the arguments, which outlive this
};

}  // namespace paceline::jinja
