// Python's two ways to write values into a pattern: "%s" % values and "{}".format(values).
#pragma once

#include <string>
#include <string_view>

#include "jinja/run.h"

namespace paceline::jinja {

// `values`: a tuple, a dict for %(name)s, or a single value.
Result<std::string> format_percent(Run& run, std::string_view pattern, const Value& values);

Result<std::string> format_braces(Run& run, std::string_view pattern, const Arguments& arguments);

}  // namespace paceline::jinja
