// Choosing tokens where the backend does it itself: enqueued behind a forward, so that the host waits once.
#pragma once

#include <cstdint>
#include <span>

#include "tensor/dtype.h"
#include "tensor/matrix.h"

namespace paceline::kernels {

// How the token behind one row is chosen, with the meaning that sample/choose.h gives to it all. Pointers are the
// backend's memory, each may be none.
struct ChoiceRow {
  int32_t logits_row = 0;
  int32_t first_draft = 0, drafts = 0;  // rows of the forward whose tokens stand in front of this choice, as drafts
  float temperature = 0;
  int32_t top_k = 0;
  float top_p = 1, min_p = 0;
  float repetition_penalty = 1, presence_penalty = 0, frequency_penalty = 0;
  uint64_t seed = 0;
  uint64_t index = 0;                 // of the token in the output
  const int32_t* counts = nullptr;    // [vocab]: times in the output; kInPrompt is added where it is in the prompt
  const float* bias = nullptr;        // [vocab]
  const uint64_t* barred = nullptr;   // bits, [ceil(vocab / 64)]
  const uint64_t* allowed = nullptr;  // likewise
};
inline constexpr int32_t kInPrompt = 1 << 30;

// One sequence's choices, row after row: they stand up to the first that is not the draft behind it.
struct ChoiceChain {
  int32_t first_choice = 0, drafts = 0;  // one choice more than drafts
  int32_t first_row = 0;                 // of the forward, of the first choice
  float* hidden = nullptr;               // [width], or none: written, of the last row whose choice stands
  int32_t* counts = nullptr;             // [vocab], or none: what stands is counted
};

// Without chains what is chosen are guesses, 0 where the logits are not numbers, and `chosen` is [rows].
struct ChooseArgs {
  const float* logits = nullptr;        // [any, vocab]; not written
  const TokenId* row_tokens = nullptr;  // of the forward's rows
  const float* hidden = nullptr;        // [rows of the forward, width]
  int32_t vocab = 0, width = 0;
  std::span<const ChoiceRow> rows;      // host memory
  std::span<const ChoiceChain> chains;  // host memory
  // [2, rows]: what was chosen, -1 where the logits are not numbers; then the drafts behind, -1 where there is none
  TokenId* chosen = nullptr;
};

// Rows of a block, draft after draft, each of which is one of the few best tokens of its row: the one of the largest
//   score = logit + sum over r of before[the draft in front, r] * weighed[row, r] * after[token, r]
// or, at a temperature, the one that a choice among these few would be, with the noise of its index.
struct DraftChain {
  int32_t first_row = 0, count = 0;
  TokenId newest = 0;  // in front of the first
  float temperature = 0;
  uint64_t seed = 0;
  uint64_t index = 0;  // of the first in the output
};
struct FollowArgs {
  const float* logits = nullptr;                     // [rows, vocab]
  const float* weighed = nullptr;                    // [rows, rank]
  const Matrix *before = nullptr, *after = nullptr;  // [vocab, rank]
  int32_t vocab = 0, rows = 0;
  int32_t top = 0;                     // Limits::candidates at most
  std::span<const DraftChain> chains;  // host memory
  TokenId* drafts = nullptr;           // [rows]
};

class ChoosingOps {
 public:
  virtual ~ChoosingOps() = default;

  virtual void choose(const ChooseArgs& args) = 0;
  virtual void follow(const FollowArgs& args) = 0;
  // A point in what is enqueued, and the time from one to the next, known once both have been waited for.
  enum class Mark : uint8_t { begin, end };
  virtual void mark(Mark at) = 0;
  virtual double ms_between(Mark from, Mark to) = 0;
  // From waits to what was started next, since the last call: the device had nothing to do.
  virtual double idle_ms() { return 0; }
};

}  // namespace paceline::kernels
