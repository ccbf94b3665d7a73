// Qwen's output: <think>\n…\n</think>\n\n, and calls between <tool_call> and </tool_call>, as JSON or in tags.
#pragma once

#include <memory>
#include <string_view>

#include "session/output_dialect.h"

namespace paceline {

// Null where the tokenizer has none of its marks.
std::shared_ptr<const OutputDialect> find_qwen_output(const Tokenizer& tokenizer, std::string_view chat_template);

}  // namespace paceline
