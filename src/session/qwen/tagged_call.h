// A tool call as Qwen3.5 and Qwen3-Coder write it, <function=name> <parameter=key> value </parameter> … </function>, a
// line each, read into a name and JSON arguments.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "session/output_dialect.h"

namespace paceline {

// Values are text as it stands; the tool's schema says which of them are numbers, objects and so on. None: it is no
// call of one of the tools.
std::optional<ToolCall> read_tagged_call(std::string_view text, const CallableTools& tools);
// The same piece by piece, as grammars write it.
std::unique_ptr<CallStream> begin_tagged_call(const CallableTools& tools);

}  // namespace paceline
