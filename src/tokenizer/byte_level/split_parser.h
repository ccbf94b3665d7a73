// Splitting expressions read from what is written in tokenizer.json.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "tokenizer/byte_level/split_expression.h"

namespace paceline {

// The alternatives, in order; an error says what is not understood, and where.
Result<std::vector<std::vector<SplitItem>>> parse_split_expression(std::string_view expression);

}  // namespace paceline
