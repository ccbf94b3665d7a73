// Where the filters are, by what they are about. Each list has its own file.
#pragma once

#include <span>

#include "jinja/filters.h"

namespace paceline::jinja {

std::span<const NamedFilter> text_filters();
std::span<const NamedFilter> number_filters();
std::span<const NamedFilter> sequence_filters();
std::span<const NamedFilter> select_filters();
std::span<const NamedFilter> order_filters();

Result<Value> tojson(Run& run, const Value& input, const Arguments& arguments);

// attribute "a.0.b": the item, then of that an item, and so on; none for no attribute at all.
struct AttributePath {
  std::vector<Value> keys;

  static Result<AttributePath> of(const Value* attribute);
  // `otherwise`, where not null, stands for what is undefined on the way.
  Result<Value> get(Run& run, Value item, const Value* otherwise = nullptr) const;
};

// Strings in lower case: what sorting goes by, unless it is to tell cases apart.
Result<Value> without_case(Run& run, const Value& value);

}  // namespace paceline::jinja
