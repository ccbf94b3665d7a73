// Cosines and sines of rotary positions for the rows of one forward. Angles are formed in float32, as the reference
// forms them, so that long contexts agree with it.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/row_buffer.h"
#include "model/config.h"
#include "model/yarn.h"

namespace paceline {

struct RopeTable {
  const float* cos = nullptr;  // [rows, head_dim / 2]
  const float* sin = nullptr;  // [rows, head_dim / 2]
};

// One layer kind's rows; computed on the first use of a call, the same for all its layers.
class RopeRows {
 public:
  void clear() {
    positions_.clear();
    ready_dim_ = 0;
  }
  void add(int32_t pos) { positions_.push_back(pos); }
  void set(const std::vector<int32_t>& positions) {
    positions_ = positions;
    ready_dim_ = 0;
  }
  RopeTable table(kernels::Ops& ops, const RopeConfig& config, int32_t head_dim);
  // Of so many numbers, all of which turn.
  RopeTable table(kernels::Ops& ops, double theta, int32_t turned, const std::optional<Yarn>& yarn);

 private:
  RopeTable make(kernels::Ops& ops);

  std::vector<int32_t> positions_;
  int32_t ready_dim_ = 0;
  std::vector<float> frequencies_;
  kernels::RowBuffer cos_, sin_;
};

}  // namespace paceline
