// What stands behind `|`.
#pragma once

#include <string_view>

#include "jinja/run.h"

namespace paceline::jinja {

using FilterFunction = Result<Value> (*)(Run& run, const Value& input, const Arguments& arguments);

// Null where there is none of this name.
FilterFunction find_filter(std::string_view name);

struct NamedFilter {
  std::string_view name;
  FilterFunction function;
};

}  // namespace paceline::jinja
