#include "grammar/documents.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <utility>

#include "grammar/document_parts.h"
#include "grammar/parts.h"
#include "grammar/schema.h"
#include "grammar/schema_fields.h"
#include "grammar/width_check.h"

namespace paceline::grammar {
namespace {

constexpr size_t kMaxTools = 256;
// Each is looked at to find out how many ways stay open behind it.
constexpr size_t kMaxWidePlaces = 4096;

Result<TokenId> needed(const Vocabulary& vocabulary, std::string_view text) {
  if (const auto id = vocabulary.special(text)) return *id;
  return Error{fmt::format("tool calls need the special token {}, which the tokenizer lacks", text)};
}

// From one to `most` calls, each between its tokens.
StateId calls_in_a_row(AutomatonBuilder& builder, const CallTokens& around, StateId call, std::string_view between,
                       int most) {
  StateId next = kNoState;
  for (int i = std::clamp(most, 1, 64); i > 0; --i) {
    const StateId first = builder.add(), inside = builder.add(), last = builder.add(), behind = builder.add();
    builder.token(first, around.begin, inside);
    builder.call(inside, call, last, false);
    builder.token(last, around.end, behind);
    builder.go(behind, kAccept);
    if (next != kNoState) builder.go(builder.literal(behind, between), next);
    next = first;
  }
  return next;
}

Result<StateId> with_instead(Parts& parts, StateId calls, const InsteadOfCalls& instead) {
  AutomatonBuilder& b = parts.builder();
  switch (instead.kind) {
    case InsteadOfCalls::Kind::nothing: return calls;
    case InsteadOfCalls::Kind::text: {
      const StateId text = parts.free_text();
      b.go(text, calls);
      b.go(text, kAccept);
      return text;
    }
    case InsteadOfCalls::Kind::object:
    case InsteadOfCalls::Kind::schema: break;
  }
  // Calls may be written in another way than JSON is.
  Parts json_parts(b, {});
  const StateId start = b.add();
  b.go(start, calls);
  if (instead.kind == InsteadOfCalls::Kind::object) {
    b.go(start, json_parts.any_object());
  } else {
    SchemaCompiler compiler(json_parts, *instead.schema);
    TRY_ASSIGN(const StateId document, compiler.compile());
    b.go(start, document);
  }
  return start;
}

}  // namespace

StateId with_thought(Parts& parts, const std::optional<ThoughtForm>& thought, StateId document) {
  if (!thought) return document;
  AutomatonBuilder& b = parts.builder();
  const StateId text = parts.free_text(), behind = b.add();
  b.token(text, thought->end, behind);
  b.go(b.literal(behind, thought->behind), document);
  if (thought->is_open) return text;
  const StateId start = b.add(), begin = b.add();
  b.go(start, document);
  b.token(start, thought->begin, begin);
  b.go(b.literal(begin, thought->head), text);
  return start;
}

Result<Automaton> finished(AutomatonBuilder&& builder, StateId start) {
  TRY_ASSIGN(Automaton made, std::move(builder).finish(start));
  if (made.wide.size() > kMaxWidePlaces) {
    return Error{fmt::format("the schema has {} places with many alternatives; at most {} are supported",
                             made.wide.size(), kMaxWidePlaces)};
  }
  TRY(check_width(made));
  return made;
}

Result<Automaton> whole_of_calls(Parts& parts, const CallTokens& around, StateId call, std::string_view between,
                                 const ToolCallOptions& options) {
  AutomatonBuilder& builder = parts.builder();
  const StateId calls = calls_in_a_row(builder, around, call, between, options.max_calls);
  TRY_ASSIGN(const StateId document, with_instead(parts, calls, options.instead));
  const StateId start = with_thought(parts, options.thought, document);
  return finished(std::move(builder), start);
}

Status check_tools(std::span<const ToolSchema> tools) {
  if (tools.empty()) return Error{"there is no tool to call"};
  if (tools.size() > kMaxTools)
    return Error{fmt::format("{} tools; at most {} are supported", tools.size(), kMaxTools)};
  for (const ToolSchema& tool : tools) TRY(check_tool_name(tool.name));
  return Done{};
}

Result<StateId> add_arguments(Parts& parts, const ToolSchema& tool) {
  if (tool.parameters.is_null()) {
    const StateId start = parts.builder().add();
    parts.builder().literal(start, "{}", kAccept);
    return start;
  }
  const auto* schema = tool.parameters.if_object();
  if (schema != nullptr && schema->empty()) return parts.any_object();
  if (schema != nullptr) {
    TRY_ASSIGN(const auto types, types_of(*schema, "#"));
    if (types != std::vector<std::string_view>{"object"}) schema = nullptr;
  }
  if (schema == nullptr) return Error{"#: expected the schema of an object"};
  return SchemaCompiler(parts, tool.parameters).compile();
}

Status check_tool_name(std::string_view name) {
  const bool plain = !name.empty() && name.size() <= 256 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.';
  });
  if (plain) return Done{};
  return Error{fmt::format("the tool name {} must be letters, digits, '_', '-' and '.'", json_quoted(name))};
}

Result<Automaton> json_object_grammar(const std::optional<ThoughtForm>& thought) {
  AutomatonBuilder builder;
  Parts parts(builder, {});
  const StateId start = with_thought(parts, thought, parts.any_object());
  return finished(std::move(builder), start);
}

Result<Automaton> json_schema_grammar(const boost::json::value& schema, const std::optional<ThoughtForm>& thought) {
  AutomatonBuilder builder;
  Parts parts(builder, {});
  SchemaCompiler compiler(parts, schema);
  TRY_ASSIGN(const StateId document, compiler.compile());
  const StateId start = with_thought(parts, thought, document);
  return finished(std::move(builder), start);
}

Result<Automaton> tool_call_grammar(const Vocabulary& vocabulary, std::span<const ToolSchema> tools,
                                    const ToolCallOptions& options) {
  TRY(check_tools(tools));
  TRY_ASSIGN(const TokenId quote, needed(vocabulary, "<|\"|>"));
  TRY_ASSIGN(const TokenId begin, needed(vocabulary, "<|tool_call>"));
  TRY_ASSIGN(const TokenId end, needed(vocabulary, "<tool_call|>"));
  AutomatonBuilder builder;
  Parts parts(builder, {.call = true, .quote = quote});
  // One call, from behind its first token to before its last.
  const StateId call = builder.add(), name = builder.literal(call, "call:");
  for (const ToolSchema& tool : tools) {
    auto arguments = add_arguments(parts, tool);
    if (!arguments.ok()) return Error{fmt::format("tool {}: {}", tool.name, arguments.error().message)};
    if (tool.strict) builder.note_needed(*arguments, "tool " + tool.name);
    builder.call(builder.literal(name, tool.name), *arguments, kAccept, false);
  }
  return whole_of_calls(parts, {begin, end}, call, "", options);
}

}  // namespace paceline::grammar
