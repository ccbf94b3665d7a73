// value.name, value[key] and value[a:b:c], as Jinja's sandbox allows them.
#pragma once

#include "jinja/run.h"

namespace paceline::jinja {

// A method or attribute first, then an item of that key; undefined where there is neither.
Result<Value> get_attribute(Run& run, const Value& value, std::string_view name);

// An item first, then an attribute of that name; undefined where there is neither.
Result<Value> get_item(Run& run, const Value& value, const Value& key);

struct SliceBounds {
  Value begin, end, step;  // integers or none
};
Result<Value> get_slice(Run& run, const Value& value, const SliceBounds& bounds);

}  // namespace paceline::jinja
