// A template's text to its tree.
#pragma once

#include <string_view>

#include "jinja/ast.h"

namespace paceline::jinja {

// `source` must be valid UTF-8. An error names the line.
Result<Tree> parse(std::string_view source);

}  // namespace paceline::jinja
