#include "jinja/bound.h"

#include <fmt/format.h>

#include <algorithm>

namespace paceline::jinja {

Result<Bound> Bound::of(std::string_view function, const Arguments& arguments,
                        std::initializer_list<std::string_view> names, size_t required) {
  Bound bound;
  bound.function_ = function;
  bound.values_.assign(names.size(), nullptr);
  if (arguments.positional.size() > names.size()) {
    return Error{
        fmt::format("{}() takes at most {} arguments, found {}", function, names.size(), arguments.positional.size())};
  }
  for (size_t i = 0; i < arguments.positional.size(); ++i) bound.values_[i] = &arguments.positional[i];
  for (const auto& [name, value] : arguments.named) {
    const auto* place = std::find(names.begin(), names.end(), std::string_view(name));
    if (place == names.end()) return Error{fmt::format("{}() has no argument '{}'", function, name)};
    const Value*& slot = bound.values_[static_cast<size_t>(place - names.begin())];
    if (slot != nullptr) return Error{fmt::format("{}() was given '{}' twice", function, name)};
    slot = &value;
  }
  for (size_t i = 0; i < required; ++i) {
    if (bound.values_[i] == nullptr) return Error{fmt::format("{}() wants {} arguments or more", function, required)};
  }
  return bound;
}

bool Bound::truth(size_t i, bool otherwise) const { return values_[i] == nullptr ? otherwise : is_true(*values_[i]); }

Result<int64_t> Bound::integer(size_t i, int64_t otherwise) const {
  if (values_[i] == nullptr) return otherwise;
  if (values_[i]->is_undefined()) return Error{values_[i]->hint()};
  if (!values_[i]->is_integral())
    return Error{fmt::format("{}() wants an integer, found '{}'", function_, type_name(*values_[i]))};
  return values_[i]->integer();
}

Result<std::string_view> Bound::string(size_t i, std::string_view otherwise) const {
  if (values_[i] == nullptr) return otherwise;
  if (values_[i]->is_undefined()) return Error{values_[i]->hint()};
  if (!values_[i]->is_string())
    return Error{fmt::format("{}() wants a string, found '{}'", function_, type_name(*values_[i]))};
  return std::string_view(values_[i]->text());
}

}  // namespace paceline::jinja
