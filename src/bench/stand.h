// One sequence of chance tokens, read up to some context; forwards that are timed there are taken back.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/forward.h"

namespace paceline {

class Stand {
 public:
  // longest: the most tokens that will stand. chunk: rows of a prompt chunk; 0: what suits the device.
  Stand(Forward& forward, int32_t longest, int32_t chunk);

  // Milliseconds to read on from what stands up to so many tokens.
  double read_to(int32_t length);
  // Likewise from nothing.
  double prompt(int32_t length);
  // Milliseconds for one forward of `width` rows with logits for each, as a verify has; the median of three. `bytes`:
  // of weights that it read.
  double width(int32_t width, double& bytes);

  [[nodiscard]] const KvCache& kv() const { return kv_; }

 private:
  ForwardOutput run(int32_t rows, std::span<const int32_t> logit_rows, int32_t drafts = 0);

  Forward& forward_;
  int32_t chunk_;
  KvCache kv_;
  std::vector<TokenId> tokens_;
};

}  // namespace paceline
