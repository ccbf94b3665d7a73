// The parts of the table for processors with dot products but neither the matrix nor the bf16 instructions.
//
// Quantised weights are rearranged once at load: four rows make a block, read from its first byte to its last; N is
// padded with zero rows. Per group of columns a block has
//   scales  of the four rows, bf16 or float32 as the checkpoint has them; their biases
//   values  per four columns, four of each row: a dot product then has one output in each lane. q8 as signed bytes, q -
//   128;
//           of q4, the low halves of 16 bytes are four columns of each row, the high halves the next four.
// Rows of activations are the portable table's, and behind them 128 Σ q of each row and group, which makes good for the
// signed bytes.
#pragma once

#include "kernels/cpu_table.h"
#include "kernels/portable/act.h"

namespace paceline::kernels::neon::dotprod {

inline constexpr int32_t kBlockRows = 4;

size_t packed_bytes(const Matrix& w);
void pack(const Matrix& w, void* out, int32_t block_begin, int32_t block_end);
// Of one block.
size_t block_bytes(const Matrix& w);

size_t act_bytes(const ActShape& shape);
void prepare(const Act& act, const float* x, int64_t ldx, int32_t row_begin, int32_t row_end);
// Where the sums of a group begin, [rows, groups], of an int8 act: kMagicBits and what its signed bytes lack.
int32_t* corrections(const Act& act);

void matmul_quantised(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end);
void matmul_floats(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end);

}  // namespace paceline::kernels::neon::dotprod
