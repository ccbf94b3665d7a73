// Which rounds a text came from, and who wrote what of it: an accepted draft, or the target itself. For those who show
// it; nothing depends on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/event.h"
#include "tokenizer/tokenizer.h"

namespace paceline {

// So many bytes of a text, behind those of the spans before it.
struct TextSpan {
  size_t bytes = 0;
  TokenOrigin origin = TokenOrigin::plain;
  int64_t round = 0;  // that its token came from
};

struct TracedRound {
  int64_t number = 0;  // from 1
  int32_t depth = 0;
  DepthReason reason = DepthReason::policy;
  int32_t drafted = 0, accepted = 0;
  double draft_ms = 0, verify_ms = 0, choose_ms = 0, commit_ms = 0;
  std::vector<TokenId> rejected;
};

// Rounds since somebody last asked.
struct TracedRounds {
  int64_t last = 0;  // the number of the last there was
  std::vector<TracedRound> each;
  std::vector<float> expected;  // after the last: tokens per second by depth

  void add(const TracedRounds& more);
};

class RoundTracer {
 public:
  // The tokenizer must outlive it.
  explicit RoundTracer(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  void note_round(const Event& event);
  // A token, before its text; and text that came out of it or of earlier ones, whose spans are added.
  void push(const NewToken& token);
  void take_text(std::string_view text, std::vector<TextSpan>& spans);
  // Text of another kind begins: what earlier tokens still had to say was not for it.
  void begin_other();
  [[nodiscard]] TracedRounds take_rounds();

 private:
  const Tokenizer& tokenizer_;
  TracedRounds rounds_;
  std::deque<TextSpan> waiting_;  // tokens whose text is not out yet, as far as is known
};

}  // namespace paceline
