#include "session/gemma/gemma_output.h"

#include "session/gemma/gemma_call.h"

namespace paceline {
namespace {

class GemmaOutput final : public OutputDialect {
 public:
  using OutputDialect::OutputDialect;

  [[nodiscard]] OutputFrame frame() const override { return {.thought_head = "thought\n", .needs_thought_head = true}; }
  [[nodiscard]] bool thinks_unasked() const override { return false; }
  [[nodiscard]] std::optional<ToolCall> read_call(std::string_view text, const CallableTools& tools) const override {
    auto call = read_gemma_call(text);
    return call && find_tool(tools, call->name) != nullptr ? call : std::nullopt;
  }
  [[nodiscard]] std::unique_ptr<CallStream> begin_call(const CallableTools&) const override {
    return begin_gemma_call();
  }
  [[nodiscard]] Result<grammar::Automaton> call_grammar(const grammar::Vocabulary& vocabulary,
                                                        std::span<const grammar::ToolSchema> tools,
                                                        const grammar::ToolCallOptions& options) const override {
    return grammar::tool_call_grammar(vocabulary, tools, options);
  }
};

}  // namespace

std::shared_ptr<const OutputDialect> find_gemma_output(const Tokenizer& tokenizer) {
  return std::make_shared<GemmaOutput>(OutputMarks{.thought_begin = added_token(tokenizer, "<|channel>"),
                                                   .thought_end = added_token(tokenizer, "<channel|>"),
                                                   .call_begin = added_token(tokenizer, "<|tool_call>"),
                                                   .call_end = added_token(tokenizer, "<tool_call|>"),
                                                   .quote = added_token(tokenizer, "<|\"|>")});
}

}  // namespace paceline
