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
    builder.call(builder.literal(name, tool.name + "\", \"arguments\": "), *arguments, end, false);
  }
  const StateId calls = calls_in_a_row(builder, around, call, "\n", options.max_calls);
  const StateId start = with_thought(parts, options.thought, calls);
  return finished(std::move(builder), start);
}

}  // namespace paceline::grammar
