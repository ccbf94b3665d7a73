// What every model says of itself, whatever its family: all that the rooms above may know of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensor/dtype.h"

namespace paceline {

struct RopeConfig {
  double theta = 10000.0;
  // Of the head dim's pairs, those below rotated_pairs(head_dim) turn; the divisor of the exponent stays head_dim.
  double partial_factor = 1.0;

  [[nodiscard]] int32_t rotated_pairs(int32_t head_dim) const {
    return static_cast<int32_t>(partial_factor * head_dim / 2);
  }

  bool operator==(const RopeConfig&) const = default;
};

// Ids that the checkpoint names; -1 where it names none.
struct TokenIds {
  TokenId pad = -1, bos = -1;
  TokenId image_begin = -1, image = -1, image_end = -1;
  TokenId audio_begin = -1, audio = -1, audio_end = -1;
  TokenId video = -1;

  bool operator==(const TokenIds&) const = default;
};

struct ModelConfig {
  std::string model_type;  // of the top level: gemma4, gemma4_unified, gemma4_text, …
  int32_t hidden = 0;
  int32_t vocab = 0;
  int32_t context = 0;
  bool images_see_both_ways = false;  // tokens of one image see each other, so that it must not be cut
  TokenIds ids;
  std::vector<TokenId> stop_ids;    // config's eos and generation_config's, sorted, unique
  std::vector<TokenId> suppressed;  // generation_config's: never to be sampled
  // generation_config's sampling defaults, or the family's.
  float temperature = 1.0f;
  int32_t top_k = 64;
  float top_p = 0.95f;

  bool operator==(const ModelConfig&) const = default;
};

}  // namespace paceline
