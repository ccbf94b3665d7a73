// Weights of E4M3 for processors with the bf16 matrix instruction, rearranged once at load: eight rows make a block,
// read from its first byte to its last; rows and columns are padded with zeros. Per 8 columns, rows in pairs: 16 bytes
// are columns 0 … 3 of both rows, then 4 … 7: two operands of the instruction, once widened. Where scales differ along
// rows, in blocks of 128 rows and columns, a block begins with its scales in float32, padded to 64 bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu_table.h"

namespace paceline::kernels::neon {

inline constexpr int32_t kF8Rows = 8;

size_t packed_f8_bytes(const Matrix& w);
// Blocks of four rows, [block_begin, block_end).
void pack_f8(const Matrix& w, void* out, int32_t block_begin, int32_t block_end);

// w packed, without its factors; x of ActKind::bf16, or f32 for checks.
void matmul_f8(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end);

}  // namespace paceline::kernels::neon
