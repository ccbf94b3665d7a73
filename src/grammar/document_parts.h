// What documents of every kind are put together with.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "grammar/documents.h"
#include "grammar/parts.h"

namespace paceline::grammar {

// Where the whole begins: with a thought or with the document.
StateId with_thought(Parts& parts, const std::optional<ThoughtForm>& thought, StateId document);

// Calls as the options have them, with what may stand instead, behind a thought: the whole. `call` is the part that
// stands between the tokens of each.
Result<Automaton> whole_of_calls(Parts& parts, const CallTokens& around, StateId call, std::string_view between,
                                 const ToolCallOptions& options);

// The arguments of a tool as an object, in the dialect of the parts.
Result<StateId> add_arguments(Parts& parts, const ToolSchema& tool);

// Some, not too many, with names that may be called.
Status check_tools(std::span<const ToolSchema> tools);

// The whole, within the bounds on what is too costly.
Result<Automaton> finished(AutomatonBuilder&& builder, StateId start);

}  // namespace paceline::grammar
