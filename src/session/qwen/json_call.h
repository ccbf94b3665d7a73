// A tool call as Qwen3 writes it, {"name": "f", "arguments": {…}}, read into a name and JSON arguments.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "session/output_dialect.h"

namespace paceline {

// None: it is no call of one of the tools.
std::optional<ToolCall> read_json_call(std::string_view text, const CallableTools& tools);
// The same piece by piece, as grammars write it.
std::unique_ptr<CallStream> begin_json_call(const CallableTools& tools);

}  // namespace paceline
