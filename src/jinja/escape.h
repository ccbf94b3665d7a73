// Text that is safe in HTML. Chat templates do not escape what they print, but `escape`, `safe` and adding to such text
// work as Jinja has them.
#pragma once

#include <string>
#include <string_view>

#include "jinja/run.h"

namespace paceline::jinja {

std::string html_escaped(std::string_view text);

// What stands behind `|escape`: text marked safe already is left as it is.
Result<std::string> escaped(Run& run, const Value& value);

}  // namespace paceline::jinja
