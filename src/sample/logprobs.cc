#include "sample/logprobs.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace paceline {

RowLogprobs row_logprobs(std::span<const float> logits, TokenId chosen, int32_t top_count, ChooseScratch& scratch) {
  CHECK(chosen >= 0 && chosen < static_cast<TokenId>(logits.size()));
  scratch.row.assign(logits.begin(), logits.end());
  for (float& logit : scratch.row) {
    if (std::isnan(logit)) logit = -std::numeric_limits<float>::infinity();
  }
  find_largest(scratch.row, scratch.largest);
  const double largest = *std::max_element(scratch.largest.begin(), scratch.largest.end());
  double sum = 0;
  for (const float logit : scratch.row) sum += std::exp(static_cast<double>(logit) - largest);
  const double log_sum = largest + std::log(sum);
  const auto logprob = [&](float logit) { return static_cast<float>(static_cast<double>(logit) - log_sum); };

  RowLogprobs result{logprob(scratch.row[chosen]), {}};
  select_top({scratch.row, scratch.largest}, top_count, scratch.threshold, scratch.candidates);
  for (const auto& [logit, id] : scratch.candidates) result.top.push_back({id, logprob(logit)});
  return result;
}

}  // namespace paceline
