// How activations lie for weights in blocks, on both NEON tables: 8 bits with a scale per row and group. Row pairs; per
// pair and 8 columns, 8 of row 0 and 8 of row 1 (one operand of the 2x8 matrix instruction); an odd last row stands
// twice. Where there is no such instruction every row stands twice, as the operand of a dot product with two outputs
// (loading a half into both would cost as much as the product). Then the scales, per pair and group {a0, a1, a0, a1},
// the order of a 2x2 tile of results; then in the same order each group's scale times its sum of integers.
#pragma once

#include "kernels/cpu_table.h"

namespace paceline::kernels::neon {

struct BlocksAct {
  int8_t* q;      // [pair][2 * cols]
  float* scales;  // [pair][groups][4]
  float* sums;    // [pair][groups][4]
  int32_t cols, groups;
};

// Rows that share a pair: 2, or 1.
size_t blocks_act_bytes(const ActShape& shape, int32_t pair_rows);
BlocksAct blocks_act(const Act& act, int32_t pair_rows);
void prepare_blocks(const Act& act, int32_t pair_rows, const float* x, int64_t ldx, int32_t row_begin, int32_t row_end);

// Quantises one group into q; returns its scale, `sum` gets Σ q. group is a multiple of 16.
float quantise_group(const float* x, int32_t group, int8_t* q, int32_t& sum);

}  // namespace paceline::kernels::neon
