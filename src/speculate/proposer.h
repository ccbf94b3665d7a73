// Who guesses the next tokens. Guesses are verified by the target and never change what is emitted; a proposer may
// therefore guess in any way, and only its hit rate and its time matter.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "state/kv.h"
#include "tensor/dtype.h"

namespace paceline {

// The most drafts of one round, so that what is kept per position has a size.
inline constexpr int32_t kMaxDraftTokens = 16;

// What stands when drafts are asked for. Valid during the call only.
struct DraftContext {
  std::span<const TokenId> tokens;  // prompt and output; the newest is chosen but not run yet
  const KvCache* kv = nullptr;      // the target's: holds all of them but the newest
  // [hidden], after the final norm, of the row that chose the newest; the backend's memory
  const float* hidden = nullptr;
};

// Serves one sequence at a time. State of its own belongs to that sequence and is given up by reset().
class Proposer {
 public:
  Proposer() = default;
  Proposer(const Proposer&) = delete;
  Proposer& operator=(const Proposer&) = delete;
  virtual ~Proposer() = default;

  // Another sequence begins.
  virtual void reset() = 0;

  // Writes at most out.size() drafts, in order, and returns how many. Ids are the target's.
  virtual int32_t propose(const DraftContext& context, std::span<TokenId> out) = 0;

  // The first `count` tokens of the sequence stand and have been run; what was seen beyond them is taken back.
  virtual void committed(int32_t count) { (void)count; }
};

// A guess that is no token at all goes, with those behind it.
inline void drop_strays(std::vector<TokenId>& drafts, int32_t vocab) {
  const auto stray =
      std::find_if(drafts.begin(), drafts.end(), [&](TokenId draft) { return draft < 0 || draft >= vocab; });
  drafts.erase(stray, drafts.end());
}

}  // namespace paceline
