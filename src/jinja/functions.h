// The functions that every template can call.
#pragma once

#include <span>
#include <string_view>

#include "jinja/run.h"

namespace paceline::jinja {

// range, dict, namespace, cycler, joiner, raise_exception, strftime_now.
std::span<const std::string_view> function_names();

// One of those.
Value function(std::string_view name);

}  // namespace paceline::jinja
