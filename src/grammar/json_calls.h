// Tool calls as JSON between tokens of their own: <tool_call>\n{"name": "f", "arguments": {…}}\n</tool_call>.
#pragma once

#include <span>

#include "base/result.h"
#include "grammar/documents.h"

namespace paceline::grammar {

Result<Automaton> json_call_grammar(const CallTokens& around, std::span<const ToolSchema> tools,
                                    const ToolCallOptions& options = {});

}  // namespace paceline::grammar
