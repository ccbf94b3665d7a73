// The grammars that requests ask for.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "grammar/automaton.h"
#include "grammar/vocabulary.h"

namespace paceline::grammar {

// A thought that may stand before the document: begin, head, any text, end, and what is written behind it.
struct ThoughtForm {
  TokenId begin = -1, end = -1;
  std::string head, behind;
  bool is_open = false;  // the text begins within one
};

// An object of any kind.
Result<Automaton> json_object_grammar(const std::optional<ThoughtForm>& thought = {});

// schema.h says what is understood.
Result<Automaton> json_schema_grammar(const boost::json::value& schema, const std::optional<ThoughtForm>& thought = {});

struct ToolSchema {
  std::string name;
  boost::json::value parameters;  // the schema of an object; null: no parameters
  bool strict = false;            // no call may go beyond it, whatever else is let go
};

// Whether a tool may be called so: letters, digits, '_', '-' and '.', which need no quotes in a call.
Status check_tool_name(std::string_view name);

// What may stand where no call does.
struct InsteadOfCalls {
  enum class Kind : uint8_t {
    nothing,  // at least one call is made
    text,     // any text, with or without calls behind it
    object,   // either calls or any JSON object
    schema,   // either calls or JSON by the schema
  };
  Kind kind = Kind::nothing;
  const boost::json::value* schema = nullptr;
};

struct ToolCallOptions {
  int max_calls = 1;  // one behind the other
  std::optional<ThoughtForm> thought = std::nullopt;
  InsteadOfCalls instead = {};
};

// The tokens around each call.
struct CallTokens {
  TokenId begin = -1, end = -1;
};

// Gemma's: <|tool_call>call:name{key:<|"|>text<|"|>,n:42}<tool_call|>, of one of the tools.
Result<Automaton> tool_call_grammar(const Vocabulary& vocabulary, std::span<const ToolSchema> tools,
                                    const ToolCallOptions& options = {});

}  // namespace paceline::grammar
