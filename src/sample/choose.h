// Choosing a token: a pure function of (logits row, tokens so far, settings with their seed, output index). The same
// inputs give the same token whatever was chosen before, which is why speculation cannot be seen in the text.
//
// In order:
//   repetition penalty, presence and frequency penalty, logit bias; suppressed ids and what the constraint does not
//   allow become -infinity;
//   temperature 0: the largest logit, of equals the lowest id;
//   else: divide by temperature; top_k (exactly k: of equals the lower ids stay); top_p (the smallest set, largest
//   first, whose probability among the top_k reaches top_p); min_p (drop what is below min_p times the likeliest);
//   then every survivor gets noise keyed by (seed, output index, its id), and the largest sum of log-probability and
//   noise wins (the Gumbel way to sample). A token's noise does not depend on who else survives.
// If no logit is left (all suppressed or -infinity): the lowest id that is not suppressed, or 0 if all are; with a
// constraint the lowest that it allows and is not suppressed, or the lowest that it allows.
// A row with NaN or +infinity in it, or of nothing but -infinity, says nothing: kNoChoice, whatever the settings.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sample/history.h"
#include "sample/select.h"
#include "sample/settings.h"
#include "tensor/dtype.h"

namespace paceline {

// Memory that calls may reuse; nothing in it outlives a call in meaning. Sequences with constraints had better have
// their own: the cursor goes on from where the last call was.
struct ChooseScratch {
  std::vector<float> row;
  std::vector<float> largest;
  std::vector<float> threshold;
  std::vector<Candidate> candidates;
  TokenCounts counts;
  std::shared_ptr<const TokenConstraint> constraint;  // whose cursor this is
  std::unique_ptr<ConstraintCursor> cursor;
};

inline constexpr TokenId kNoChoice = -1;
// What whoever asked for a token is told then.
inline constexpr const char* kNoChoiceProblem =
    "the model's logits are not numbers (NaN or infinite): its weights, or what was computed with them, are broken";

TokenId choose(std::span<const float> logits, const History& history, const SampleSettings& settings,
               int64_t output_index, ChooseScratch& scratch);

// A drafter's choice, with the noise that the verify's choice of this index will have, so that both agree more often
// than their likeliest tokens would. By the row and the request alone: what depends on the text is the verify's.
TokenId choose_draft(std::span<const float> logits, const SampleSettings& settings, int64_t output_index,
                     ChooseScratch& scratch);

}  // namespace paceline
