// What a request says about how its tokens are chosen.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "grammar/token_constraint.h"
#include "tensor/dtype.h"

namespace paceline {

struct LogitBias {
  TokenId id = 0;
  float bias = 0;
};

struct SampleSettings {
  float temperature = 1.0f;           // 0: greedy
  int32_t top_k = 0;                  // 0: all
  float top_p = 1.0f;                 // 1: all
  float min_p = 0.0f;                 // 0: all
  float repetition_penalty = 1.0f;    // over prompt and output: positive logits are divided by it, negative multiplied
  float presence_penalty = 0.0f;      // over the output: subtracted once from each token in it
  float frequency_penalty = 0.0f;     // over the output: subtracted for each time a token is in it
  std::vector<LogitBias> logit_bias;  // sorted by id, each id once
  std::shared_ptr<const std::vector<TokenId>> suppressed = nullptr;  // never chosen; sorted
  // What form the output must have, if any: only tokens that it allows are chosen.
  std::shared_ptr<const TokenConstraint> constraint = nullptr;
  uint64_t seed = 0;

  [[nodiscard]] bool penalised() const {
    return repetition_penalty != 1.0f || presence_penalty != 0.0f || frequency_penalty != 0.0f;
  }
};

// Whether every number lies where it makes sense; the error names the field.
Status check_settings(const SampleSettings& settings, int32_t vocab);

// Sorts the biases by id; of two for one id the later stands.
void sort_biases(std::vector<LogitBias>& biases);

}  // namespace paceline
