// What stands behind `is`.
#pragma once

#include <string_view>

#include "jinja/run.h"

namespace paceline::jinja {

using TestFunction = Result<bool> (*)(Run& run, const Value& value, const Arguments& arguments);

// Null where there is none of this name.
TestFunction find_test(std::string_view name);

}  // namespace paceline::jinja
