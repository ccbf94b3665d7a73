// A tool call as Gemma writes it, call:name{key:<|"|>text<|"|>,n:42}, read into a name and JSON arguments.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace paceline {

// Stands for the token <|"|> in a call's text: a byte that no valid text has, so that letters which look like the token
// are letters.
inline constexpr char kQuoteMark = '\xFF';

struct ToolCall {
  std::string name;
  std::string arguments;  // a JSON object
};

// `text`: what stood between the tokens that begin and end the call. None: it is no call.
std::optional<ToolCall> read_tool_call(std::string_view text);

}  // namespace paceline
