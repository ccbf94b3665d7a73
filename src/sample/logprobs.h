// Log-probabilities of a row as the model gave it: before temperature, filters and penalties.
#pragma once

#include <span>
#include <vector>

#include "sample/choose.h"

namespace paceline {

struct TokenLogprob {
  TokenId id = 0;
  float logprob = 0;
};

struct RowLogprobs {
  float chosen = 0;
  std::vector<TokenLogprob> top;  // likeliest first
};

RowLogprobs row_logprobs(std::span<const float> logits, TokenId chosen, int32_t top_count, ChooseScratch& scratch);

}  // namespace paceline
