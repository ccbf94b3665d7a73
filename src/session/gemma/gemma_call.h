// A tool call as Gemma writes it, call:name{key:<|"|>text<|"|>,n:42}, read into a name and JSON arguments.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "session/output_dialect.h"

namespace paceline {

// `text`: what stood between the tokens that begin and end the call. None: it is no call.
std::optional<ToolCall> read_gemma_call(std::string_view text);
// The same piece by piece.
std::unique_ptr<CallStream> begin_gemma_call();

}  // namespace paceline
