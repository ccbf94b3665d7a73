// What a format of keys and values costs: a text is read, token by token as it stands, with keys and values in float32,
// which is the truth, in bf16, which is the floor below which nothing is worth caring, and as asked for. All else is
// the same.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "kernels/ops.h"
#include "model/model_weights.h"
#include "state/kv_formats.h"

namespace paceline {

// How far another's next tokens are from the truth's, summed over positions.
struct KvDistance {
  double kl = 0;         // Σ p log(p / q), in nats
  int64_t kept = 0;      // positions whose first choice is the same
  double surprisal = 0;  // of the text itself, in nats
};

// Positions [first, the next bucket's first) of the pieces that the text is read in.
struct KvBucket {
  int32_t first = 0;
  int64_t positions = 0;
  double truth_surprisal = 0;
  KvDistance floor, asked;
};

struct KvCheckSettings {
  KvFormats asked = DType::i8;
  Precision precision = Precision::bf16;
  int32_t longest = 0;  // pieces of the text have so many tokens at most; 0: the model's context
};

struct KvCheck {
  std::vector<KvBucket> buckets;  // those that have any

  [[nodiscard]] KvBucket all() const;
};

// The backend has the formats (check_formats). An error where it failed meanwhile.
Result<KvCheck> check_kv(const ModelWeights& weights, kernels::Ops& ops, std::span<const TokenId> text,
                         const KvCheckSettings& settings);

}  // namespace paceline
