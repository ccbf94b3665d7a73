// How quantised weights lie for the NEON kernels, rearranged once at load. Four rows make a block, read from its first
// byte to its last; N is padded with zero rows. A block begins with its headers, one per four groups of columns:
//   scales  [4 groups][4 rows], bf16 or float32 as the checkpoint has them
//   biases  rows 0 and 1: 4 groups each, then rows 2 and 3: two operands of the 2x4 bf16 matrix instruction; float32
//   biases
//           are a sum of two bf16, the upper parts of all four rows first
// The last may be for fewer than four groups, and is padded with zeros. Then
//   values  per group and 8 bytes of each row: rows 0 and 1 (8 bytes each), then rows 2 and 3: operands of the 2x8
//           matrix instruction, 8 columns of q8, or 16 of q4, whose low halves are the even columns
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/matrix.h"

namespace paceline::kernels::neon {

inline constexpr int32_t kBlockRows = 4;

// Scales and biases of four groups. Scale: uint16_t for bf16, or float.
template <class Scale>
inline constexpr size_t kHeaderBytes = 2 * 4 * kBlockRows * sizeof(Scale);

// Of a block with so many groups.
template <class Scale>
constexpr size_t headers_bytes(int32_t groups) {
  return static_cast<size_t>((groups + 3) / 4) * kHeaderBytes<Scale>;
}

// Bytes of a block.
size_t block_bytes(const Matrix& w);
// Of the whole matrix; 0 where it is used as it lies.
size_t packed_bytes(const Matrix& w);
void pack(const Matrix& w, void* out, int32_t block_begin, int32_t block_end);

}  // namespace paceline::kernels::neon
