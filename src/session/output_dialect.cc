#include "session/output_dialect.h"

#include "session/gemma/gemma_output.h"
#include "session/qwen/qwen_output.h"

namespace paceline {

std::optional<grammar::ThoughtForm> OutputDialect::thought_form(bool is_open) const {
  if (marks_.thought_begin < 0 || marks_.thought_end < 0) return std::nullopt;
  const OutputFrame around = frame();
  return grammar::ThoughtForm{.begin = marks_.thought_begin,
                              .end = marks_.thought_end,
                              .head = std::string(around.thought_head),
                              .behind = std::string(around.lines_behind_thought, '\n'),
                              .is_open = is_open};
}

std::shared_ptr<const OutputDialect> find_output_dialect(const Tokenizer& tokenizer, std::string_view chat_template) {
  if (auto qwen = find_qwen_output(tokenizer, chat_template)) return qwen;
  return find_gemma_output(tokenizer);
}

TokenId added_token(const Tokenizer& tokenizer, std::string_view text) {
  const auto id = tokenizer.id_of(text);
  return id && tokenizer.is_added(*id) ? *id : -1;
}

bool ends_in_thought(const Tokenizer& tokenizer, const OutputMarks& marks, std::span<const TokenId> prompt) {
  if (marks.thought_begin < 0) return false;
  for (size_t i = prompt.size(); i-- > 0;) {
    if (prompt[i] == marks.thought_begin) return true;
    // Another mark, or one that ends a turn: whoever wrote what is before it, it is over.
    if (prompt[i] == marks.thought_end || tokenizer.is_special(prompt[i])) return false;
  }
  return false;
}

}  // namespace paceline
