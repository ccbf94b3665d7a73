// Tool calls in tags, a line each: <tool_call>\n<function=f>\n<parameter=key>\nvalue\n</parameter>\n</function>\n
// </tool_call>. Strings stand as they are, other values as JSON.
#pragma once

#include <span>

#include "base/result.h"
#include "grammar/documents.h"

namespace paceline::grammar {

// Parameters come in the order of the schema. One that may be anything is text.
Result<Automaton> tagged_call_grammar(const CallTokens& around, std::span<const ToolSchema> tools,
                                      const ToolCallOptions& options = {});

}  // namespace paceline::grammar
