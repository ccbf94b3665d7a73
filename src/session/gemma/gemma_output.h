// Gemma 4's output: <|channel>thought\n…<channel|>, <|tool_call>call:name{…}<tool_call|>.
#pragma once

#include <memory>

#include "session/output_dialect.h"

namespace paceline {

// Also for a tokenizer that has none of the marks: its output is text.
std::shared_ptr<const OutputDialect> find_gemma_output(const Tokenizer& tokenizer);

}  // namespace paceline
