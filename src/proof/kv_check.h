// What formats of keys and values cost: a text is read, token by token as it stands, with keys and values in float32,
// which is the truth, and in other ways beside. One of them should be bf16: the floor below which nothing is worth
// caring. All else is the same.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "kernels/ops.h"
#include "model/model_weights.h"
#include "state/kv_formats.h"

namespace paceline {

// A way of keeping keys and values.
struct KvWay {
  std::string name;
  KvFormats formats = DType::bf16;
  kernels::Ops* ops = nullptr;  // one that reads weights as the truth's does; none: the truth's own
};

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
  std::vector<KvDistance> ways;

  // Means over positions.
  [[nodiscard]] double kl(size_t way) const { return per_position(ways[way].kl); }
  [[nodiscard]] double kept(size_t way) const { return per_position(static_cast<double>(ways[way].kept)); }
  [[nodiscard]] double perplexity(size_t way) const;
  [[nodiscard]] double truth_perplexity() const;

 private:
  [[nodiscard]] double per_position(double sum) const {
    return positions > 0 ? sum / static_cast<double>(positions) : 0;
  }
};

struct KvCheckSettings {
  std::vector<KvWay> ways;
  Precision precision = Precision::bf16;
  int32_t longest = 0;  // pieces of the text have so many tokens at most; 0: the model's context
};

struct KvCheck {
  std::vector<KvBucket> buckets;  // those that have any

  [[nodiscard]] KvBucket all() const;
};

// The backends have the formats (check_formats). An error where one failed meanwhile.
Result<KvCheck> check_kv(const ModelWeights& weights, kernels::Ops& ops, std::span<const TokenId> text,
                         const KvCheckSettings& settings);

}  // namespace paceline
