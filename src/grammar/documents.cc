#include "grammar/documents.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <utility>

#include "grammar/parts.h"
#include "grammar/schema.h"
#include "grammar/schema_fields.h"
#include "grammar/width_check.h"

namespace paceline::grammar {
namespace {

constexpr size_t kMaxTools = 256;
// Each is looked at to find out how many ways stay open behind it.
constexpr size_t kMaxWidePlaces = 4096;

// Where the whole begins: with a thought or with the document.
StateId with_thought(Parts& parts, std::optional<ThoughtTokens> thought, StateId document) {
  if (!thought) return document;
  AutomatonBuilder& b = parts.builder();
  const StateId start = b.add(), begin = b.add(), text = parts.free_text();
  b.go(start, document);
  b.token(start, thought->begin, begin);
  b.literal(begin, "thought\n", text);
  b.token(text, thought->end, document);
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

Result<TokenId> needed(const Vocabulary& vocabulary, std::string_view text) {
  if (const auto id = vocabulary.special(text)) return *id;
  return Error{fmt::format("tool calls need the special token {}, which the tokenizer lacks", text)};
}

// The arguments of one tool.
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

}  // namespace

Status check_tool_name(std::string_view name) {
  const bool plain = !name.empty() && name.size() <= 256 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.';
  });
  if (plain) return Done{};
  return Error{fmt::format("the tool name {} must be letters, digits, '_', '-' and '.'", json_quoted(name))};
}

std::optional<ThoughtTokens> find_thought_tokens(const Vocabulary& vocabulary) {
  const auto begin = vocabulary.special("<|channel>"), end = vocabulary.special("<channel|>");
  if (!begin || !end) return std::nullopt;
  return ThoughtTokens{*begin, *end};
}

Result<Automaton> json_object_grammar(std::optional<ThoughtTokens> thought) {
  AutomatonBuilder builder;
  Parts parts(builder, {});
  const StateId start = with_thought(parts, thought, parts.any_object());
  return finished(std::move(builder), start);
}

Result<Automaton> json_schema_grammar(const boost::json::value& schema, std::optional<ThoughtTokens> thought) {
  AutomatonBuilder builder;
  Parts parts(builder, {});
  SchemaCompiler compiler(parts, schema);
  TRY_ASSIGN(const StateId document, compiler.compile());
  const StateId start = with_thought(parts, thought, document);
  return finished(std::move(builder), start);
}

Result<Automaton> tool_call_grammar(const Vocabulary& vocabulary, std::span<const ToolSchema> tools,
                                    const ToolCallOptions& options) {
  if (tools.empty()) return Error{"there is no tool to call"};
  if (tools.size() > kMaxTools)
    return Error{fmt::format("{} tools; at most {} are supported", tools.size(), kMaxTools)};
  TRY_ASSIGN(const TokenId quote, needed(vocabulary, "<|\"|>"));
  TRY_ASSIGN(const TokenId begin, needed(vocabulary, "<|tool_call>"));
  TRY_ASSIGN(const TokenId end, needed(vocabulary, "<tool_call|>"));
  AutomatonBuilder builder;
  Parts parts(builder, {.call = true, .quote = quote});
  // One call, from behind its first token to before its last.
  const StateId call = builder.add(), name = builder.literal(call, "call:");
  for (const ToolSchema& tool : tools) {
    TRY(check_tool_name(tool.name));
    auto arguments = add_arguments(parts, tool);
    if (!arguments.ok()) return Error{fmt::format("tool {}: {}", tool.name, arguments.error().message)};
    builder.call(builder.literal(name, tool.name), *arguments, kAccept, false);
  }
  StateId next = kNoState;
  for (int i = std::clamp(options.max_calls, 1, 64); i > 0; --i) {
    const StateId first = builder.add(), inside = builder.add(), last = builder.add(), behind = builder.add();
    builder.token(first, begin, inside);
    builder.call(inside, call, last, false);
    builder.token(last, end, behind);
    builder.go(behind, kAccept);
    if (next != kNoState) builder.go(behind, next);
    next = first;
  }
  const StateId start = with_thought(parts, options.thought, next);
  return finished(std::move(builder), start);
}

}  // namespace paceline::grammar
