#include "session/qwen/qwen_output.h"

#include "grammar/json_calls.h"
#include "grammar/tagged_calls.h"
#include "session/qwen/json_call.h"
#include "session/qwen/tagged_call.h"

namespace paceline {
namespace {

class QwenOutput : public OutputDialect {
 public:
  using OutputDialect::OutputDialect;

  [[nodiscard]] OutputFrame frame() const override {
    return {.thought_head = "\n", .lines_behind_thought = 2, .drops_lines_around_calls = true};
  }
  [[nodiscard]] bool thinks_unasked() const override { return true; }
};

class QwenJsonOutput final : public QwenOutput {
 public:
  using QwenOutput::QwenOutput;

  [[nodiscard]] std::optional<ToolCall> read_call(std::string_view text, const CallableTools& tools) const override {
    return read_json_call(text, tools);
  }
  [[nodiscard]] std::unique_ptr<CallStream> begin_call(const CallableTools& tools) const override {
    return begin_json_call(tools);
  }
  [[nodiscard]] Result<grammar::Automaton> call_grammar(const grammar::Vocabulary&,
                                                        std::span<const grammar::ToolSchema> tools,
                                                        const grammar::ToolCallOptions& options) const override {
    return grammar::json_call_grammar({marks().call_begin, marks().call_end}, tools, options);
  }
};

class QwenTaggedOutput final : public QwenOutput {
 public:
  using QwenOutput::QwenOutput;

  [[nodiscard]] std::optional<ToolCall> read_call(std::string_view text, const CallableTools& tools) const override {
    return read_tagged_call(text, tools);
  }
  [[nodiscard]] std::unique_ptr<CallStream> begin_call(const CallableTools& tools) const override {
    return begin_tagged_call(tools);
  }
  [[nodiscard]] Result<grammar::Automaton> call_grammar(const grammar::Vocabulary&,
                                                        std::span<const grammar::ToolSchema> tools,
                                                        const grammar::ToolCallOptions& options) const override {
    return grammar::tagged_call_grammar({marks().call_begin, marks().call_end}, tools, options);
  }
};

}  // namespace

std::shared_ptr<const OutputDialect> find_qwen_output(const Tokenizer& tokenizer, std::string_view chat_template) {
  const OutputMarks marks{.thought_begin = added_token(tokenizer, "<think>"),
                          .thought_end = added_token(tokenizer, "</think>"),
                          .call_begin = added_token(tokenizer, "<tool_call>"),
                          .call_end = added_token(tokenizer, "</tool_call>")};
  if (marks.call_begin < 0 || marks.call_end < 0) return nullptr;
  // What the model is shown is what it writes.
  if (chat_template.find("<function=") != std::string_view::npos) return std::make_shared<QwenTaggedOutput>(marks);
  return std::make_shared<QwenJsonOutput>(marks);
}

}  // namespace paceline
