// Choosing for one sequence: row by row while the drafts are what was chosen.
#pragma once

#include "engine/sequence.h"
#include "sample/choose.h"

namespace paceline {

// Of the newest token's row and of those behind it, one more than there are drafts.
struct VerifyRows {
  const float* logits = nullptr;    // [1 + drafts, vocab]; none where the backend chose and nobody asked for them
  const TokenId* chosen = nullptr;  // [1 + drafts], where the backend chose, or kNoChoice; what is behind the first
                                    // that is no draft means nothing
  int32_t vocab = 0;
};
// Fills the sequence's verdict; what was chosen stands from then on. `scratch` is whoever's. The number of rows whose
// choice stands.
int32_t verify(Sequence& seq, const VerifyRows& rows, ChooseScratch& scratch);

}  // namespace paceline
