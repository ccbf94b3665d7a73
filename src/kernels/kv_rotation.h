// Keys and values as codes of 8 bits: a head's vector is rotated, so that its numbers are all of one size, and then
// rounded with one scale. Everything is of that vector alone.
//
// Rotated: in blocks, x' = H (s * x) with fixed signs s and the Walsh-Hadamard butterflies H, strides 1, 2, …
// ascending, (x + y, x - y) each. H is not normalised: H H = block * identity, and whoever multiplies two rotated
// vectors, or turns one back, divides by the block's size, a power of two. Where keys and values are joined, the
// numbers that RoPE rotates come first and are the first block.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/ops.h"

namespace paceline::kernels {

// Changes whenever codes do.
inline constexpr uint32_t kCodeVersion = 1;

// Numbers that are rotated together; 0: the shape cannot be kept in codes.
int32_t rotation_block(const HeadShape& shape);

class Rotation {
 public:
  explicit Rotation(const HeadShape& shape);

  // x [count], numbers `first` and on of a head in the order of blocks; whole blocks.
  void turn(float* x, int32_t first, int32_t count) const;
  // Back, sizes included.
  void turn_back(float* x, int32_t first, int32_t count) const;
  [[nodiscard]] int32_t block() const { return block_; }

 private:
  void butterflies(float* x, int32_t count) const;

  int32_t block_;
  std::vector<float> signs_;  // [head_dim]
};

// Codes of x [count] at -127 … 127; returns their scale. Not a number: nor is the scale.
float encode(const float* x, int32_t count, int8_t* codes);

// The order of blocks, where keys and values are joined: from a head's own order, and back. `to` is not `from`.
void order_joined(const HeadShape& shape, const float* from, float* to);
void order_back(const HeadShape& shape, const float* from, float* to);

}  // namespace paceline::kernels
