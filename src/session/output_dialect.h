// How a family of models writes what is not plain text: thoughts between marks, and tool calls.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "grammar/documents.h"
#include "session/callable_tools.h"
#include "tokenizer/tokenizer.h"

namespace paceline {

struct ToolCall {
  std::string name;
  std::string arguments;  // a JSON object
};

// -1: the tokenizer has no such token.
struct OutputMarks {
  TokenId thought_begin = -1, thought_end = -1;
  TokenId call_begin = -1, call_end = -1;
  TokenId quote = -1;  // within calls
};

// Stands for the token `quote` in a call's text: a byte that no valid text has, so that letters which look like the
// token are letters.
inline constexpr char kQuoteMark = '\xFF';

// What stands around thoughts and calls and belongs to neither them nor the text.
struct OutputFrame {
  std::string_view thought_head;          // behind the mark that begins a thought
  bool needs_thought_head = false;        // without it what follows is text
  size_t lines_behind_thought = 0;        // ends of lines
  bool drops_lines_around_calls = false;  // before a call and behind one
};

// A call while it is written. Its form is certain: it is one that the dialect's grammar allows.
class CallStream {
 public:
  virtual ~CallStream() = default;
  // More of what stands between the tokens that begin and end it. False: it cannot be read piece by piece.
  virtual bool push(std::string_view text) = 0;

  // "" until it is certain.
  [[nodiscard]] const std::string& name() const { return name_; }
  // As far as they are known, and were not taken before: all pieces together are a JSON object.
  std::string take_arguments() { return std::exchange(arguments_, {}); }

 protected:
  std::string name_, arguments_;
};

class OutputDialect {
 public:
  explicit OutputDialect(const OutputMarks& marks) : marks_(marks) {}
  virtual ~OutputDialect() = default;

  [[nodiscard]] const OutputMarks& marks() const { return marks_; }
  [[nodiscard]] virtual OutputFrame frame() const = 0;
  // Whether a thought may come where nobody said a word about it.
  [[nodiscard]] virtual bool thinks_unasked() const = 0;
  // `text`: what stood between the tokens that begin and end a call. None: it is no call of one of the tools.
  [[nodiscard]] virtual std::optional<ToolCall> read_call(std::string_view text, const CallableTools& tools) const = 0;
  // The same piece by piece; the tools outlive it.
  [[nodiscard]] virtual std::unique_ptr<CallStream> begin_call(const CallableTools& tools) const = 0;
  // Calls of these tools, and what the options let stand in their place.
  [[nodiscard]] virtual Result<grammar::Automaton> call_grammar(const grammar::Vocabulary& vocabulary,
                                                                std::span<const grammar::ToolSchema> tools,
                                                                const grammar::ToolCallOptions& options) const = 0;

  // For grammars; none where the tokenizer lacks the marks.
  [[nodiscard]] std::optional<grammar::ThoughtForm> thought_form(bool is_open) const;

 private:
  OutputMarks marks_;
};

// By what the tokenizer has, and where that is not enough by the text of the chat template ("": there is none).
std::shared_ptr<const OutputDialect> find_output_dialect(const Tokenizer& tokenizer, std::string_view chat_template);

// The added token of this text, or -1.
TokenId added_token(const Tokenizer& tokenizer, std::string_view text);

// Whether a prompt ends within a thought that its last turn began.
bool ends_in_thought(const Tokenizer& tokenizer, const OutputMarks& marks, std::span<const TokenId> prompt);

}  // namespace paceline
