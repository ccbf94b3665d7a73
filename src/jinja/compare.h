// Python's ==, < and in.
#pragma once

#include <compare>

#include "jinja/run.h"

namespace paceline::jinja {

bool equal(const Value& a, const Value& b);

// Below, equal or above; an error for values that have no order. Not-a-numbers are unordered.
Result<std::partial_ordering> order(const Value& a, const Value& b);

// `item in container`.
Result<bool> contains(Run& run, const Value& container, const Value& item);

// `a is b`: the same container, or the same plain value.
bool same(const Value& a, const Value& b);

}  // namespace paceline::jinja
