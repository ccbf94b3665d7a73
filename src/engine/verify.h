// Choosing for one sequence: row by row while the drafts are what was chosen.
#pragma once

#include "engine/sequence.h"
#include "sample/choose.h"

namespace paceline {

// logits [1 + drafts, vocab], hidden [1 + drafts, width]: of the newest token's row and of those behind it. Fills the
// sequence's verdict; what was chosen stands from then on. `scratch` is whoever's.
struct VerifyRows {
  const float* logits = nullptr;
  const float* hidden = nullptr;
  int32_t vocab = 0;
  int32_t width = 0;
};
void verify(Sequence& seq, const VerifyRows& rows, ChooseScratch& scratch);

}  // namespace paceline
