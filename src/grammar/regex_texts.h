// Which texts a regular expression is about: whether one of them is this, and whether two expressions share any.
#pragma once

#include <string_view>

#include "base/result.h"
#include "grammar/regex.h"

namespace paceline::grammar {

// An error where the expression is too large to follow. `text` is valid UTF-8.
Result<bool> matches(const RegexNode& pattern, std::string_view text);
Result<bool> share_a_text(const RegexNode& a, const RegexNode& b);

// The expression with no other characters than these; what needs others is left out, which may be all of it.
RegexNode within(const RegexNode& pattern, const std::vector<CodeRange>& allowed);

}  // namespace paceline::grammar
