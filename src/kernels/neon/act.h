// How activations lie for the NEON kernels.
//
//   bf16     row pairs; per pair and 8 columns: 4 of row 0, 4 of row 1, the next 4 of row 0, of row 1 (two
//            operands of the 2x4 matrix instruction). Columns are padded with zeros to 8, an odd last row with a
//            row of zeros.
//   int8     row pairs in tiles (below), the tiles one behind the other; per tile, 8 columns and pair: 8 of row 0,
//            8 of row 1 (one operand of the 2x8 matrix instruction), so that a product reads one run. An odd last
//            row stands twice.
//   nibbles  the same after reordering columns as 4-bit weights unpack: of every 16, the 8 even ones, then the 8
//            odd ones.
//   blocks   blocks_act.h
//
// Behind the numbers of int8 and nibbles lie the scales: per tile, group and pair {a0, a1, a0, a1}, the order of a 2x2
// tile of results. Then, for the weights' biases, each group's scale times its sum of integers, as a sum of two bf16
// (16 bits of fraction): per tile, 4 groups and pair, 4 of row 0 and 4 of row 1, the upper parts and then the lower.
#pragma once

#include "kernels/cpu_table.h"

namespace paceline::kernels::neon {

size_t act_bytes(const ActShape& shape);
void prepare(const Act& act, const float* x, int64_t ldx, int32_t unit_begin, int32_t unit_end);

// Row pairs that pass over weights together: tiles of four, and what is left in one or two.
struct RowTile {
  int32_t first, pairs;
};
// The tile of a pair, of so many in all.
inline RowTile row_tile(int32_t pair, int32_t all) {
  // One or two pairs are not left alone behind a tile of four: with it they make two tiles of three, or three and two.
  const int32_t fours = all > 4 && (all % 4 == 1 || all % 4 == 2) ? all / 4 - 1 : all / 4;
  if (pair < 4 * fours) return {pair / 4 * 4, 4};
  const int32_t first = 4 * fours, left = all - first;
  if (pair < first + 3) return {first, left < 3 ? left : 3};
  return {first + 3, left - 3};
}

// The parts of an int8 or nibbles act.
struct QuantisedAct {
  int8_t* q;
  float* scales;
  uint16_t* sums;  // [tile][blocks of 4 groups][pairs of the tile][2][8]
  int32_t blocks;  // of 4 groups
};
QuantisedAct quantised_parts(const Act& act);

}  // namespace paceline::kernels::neon
