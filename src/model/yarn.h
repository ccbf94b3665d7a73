// YaRN: rotary frequencies stretched for contexts longer than a model was first trained on. Fast ones stay, slow ones
// are divided by the factor, and those between are mixed.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"

namespace paceline {

class JsonFields;

struct Yarn {
  double factor = 1;
  double original_context = 0;
  double beta_fast = 32, beta_slow = 1;
  bool truncate = true;         // the borders between fast and slow to whole pairs
  double attention_factor = 1;  // cosines and sines are multiplied by it

  bool operator==(const Yarn&) const = default;
};

// Of a config's rope_parameters or rope_scaling whose rope_type is "yarn". context: max_position_embeddings, in place
// of an original context that is not given.
Result<Yarn> read_yarn(const JsonFields& fields, int64_t context);

// Of the pairs of a head that is rotated as a whole; none: theta alone.
std::vector<float> rope_frequencies(double theta, int32_t head_dim, const std::optional<Yarn>& yarn);

}  // namespace paceline
