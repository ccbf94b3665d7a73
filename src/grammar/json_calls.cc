#include "grammar/json_calls.h"

#include <fmt/format.h>

#include "grammar/document_parts.h"

namespace paceline::grammar {

Result<Automaton> json_call_grammar(const CallTokens& around, std::span<const ToolSchema> tools,
                                    const ToolCallOptions& options) {
  TRY(check_tools(tools));
  AutomatonBuilder builder;
  Parts parts(builder, {});
  const StateId call = builder.add(), name = builder.literal(call, "\n{\"name\": \""), end = builder.add();
  builder.literal(end, "}\n", kAccept);
  for (const ToolSchema& tool : tools) {
    auto arguments = add_arguments(parts, tool);
    if (!arguments.ok()) return Error{fmt::format("tool {}: {}", tool.name, arguments.error().message)};
    if (tool.strict) builder.note_needed(*arguments, "tool " + tool.name);
    builder.call(builder.literal(name, tool.name + "\", \"arguments\": "), *arguments, end, false);
  }
  return whole_of_calls(parts, around, call, "\n", options);
}

}  // namespace paceline::grammar
