// How weights in blocks (tensor/blocks.h) lie for both NEON tables, rearranged once at load: the file's numbers to the
// bit. Four rows make a block of rows, read from its first byte to its last; N is padded with zero rows. A block of
// rows is a run of parts, of 4 steps of 32 columns each (of 8 where a format's own blocks have 256 columns); the last
// may have fewer. A part is
//   scales  [step][group of the step][4 rows], float16 or bf16; then in the same order the least numbers, where a
//           format has them. Where scales are products: the common factors of 4 rows, float16, then those of the least
//           numbers (or nothing), 8 bytes each, then one byte for each [step][group][row], and the same of the least.
//   codes   per step, four pieces of 8 columns, each 8 bytes of rows 0, 1, 2 and 3: the operands of an 8-column matrix
//           instruction. Nibbles: half of that, the third and fourth piece in the upper halves of the first and second.
//           Fives: as nibbles, then 16 bytes whose bit i belongs to the i-th 16 codes.
// Codes have their zero taken away, so that products with formats that have no least number need no correction.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/matrix.h"

namespace paceline::kernels::neon {

inline constexpr int32_t kStepColumns = 32;
inline constexpr int32_t kRowsOfBlock = 4;

enum class Codes : uint8_t {
  bytes,
  nibbles,         // without a sign
  signed_nibbles,  // read as their 16-fold
  iq4_levels,      // nibbles that stand for others
  fp4_levels,
  fives,  // 0 … 31
  signed_fives
};
enum class Scales : uint8_t { f16, bf16, products, signed_products };

struct BlocksLayout {
  Codes codes = Codes::bytes;
  Scales scales = Scales::f16;
  bool least = false;  // has least numbers
  int32_t groups = 1;  // of a step
  int32_t steps = 4;   // of a part

  [[nodiscard]] constexpr bool in_products() const {
    return scales == Scales::products || scales == Scales::signed_products;
  }
  // Of a part's scales, or its least numbers.
  [[nodiscard]] constexpr size_t scale_bytes() const {
    return static_cast<size_t>(steps * groups * kRowsOfBlock) * (in_products() ? 1 : 2);
  }
  [[nodiscard]] constexpr size_t factor_bytes() const { return in_products() ? 16 : 0; }
  [[nodiscard]] constexpr size_t header_bytes() const { return factor_bytes() + scale_bytes() * (least ? 2 : 1); }
  // Of a step's codes.
  [[nodiscard]] constexpr size_t step_bytes() const {
    switch (codes) {
      case Codes::bytes: return 128;
      case Codes::fives:
      case Codes::signed_fives: return 80;
      default: return 64;
    }
  }
  // What a row's sums are larger than they should be.
  [[nodiscard]] constexpr float code_factor() const { return codes == Codes::signed_nibbles ? 16.0f : 1.0f; }
};

constexpr BlocksLayout blocks_layout(WeightFormat f) {
  switch (f) {
    case WeightFormat::q4_0: return {Codes::signed_nibbles, Scales::f16};
    case WeightFormat::q4_1: return {Codes::nibbles, Scales::f16, true};
    case WeightFormat::q5_0: return {Codes::signed_fives, Scales::f16};
    case WeightFormat::q5_1: return {Codes::fives, Scales::f16, true};
    case WeightFormat::iq4_nl: return {Codes::iq4_levels, Scales::f16};
    case WeightFormat::mxfp4: return {Codes::fp4_levels, Scales::bf16};
    case WeightFormat::nvfp4:
    case WeightFormat::nvfp4_split: return {Codes::fp4_levels, Scales::f16, false, 2};
    case WeightFormat::q2_k: return {Codes::nibbles, Scales::products, true, 2, 8};
    case WeightFormat::q3_k: return {Codes::signed_nibbles, Scales::signed_products, false, 2, 8};
    case WeightFormat::q4_k: return {Codes::nibbles, Scales::products, true, 1, 8};
    case WeightFormat::q5_k: return {Codes::fives, Scales::products, true, 1, 8};
    case WeightFormat::q6_k: return {Codes::bytes, Scales::signed_products, false, 2, 8};
    case WeightFormat::iq4_xs: return {Codes::iq4_levels, Scales::signed_products, false, 1, 8};
    default: return {};  // Q8_0
  }
}

// Of four rows.
constexpr size_t block_of_rows_bytes(const Matrix& w) {
  const BlocksLayout layout = blocks_layout(w.format);
  const int32_t steps = w.cols / kStepColumns, parts = (steps + layout.steps - 1) / layout.steps;
  return static_cast<size_t>(parts) * layout.header_bytes() + static_cast<size_t>(steps) * layout.step_bytes();
}

// As CpuTable's, for matrices in blocks.
size_t packed_blocks_bytes(const Matrix& w);
void pack_blocks(const Matrix& w, void* out, int32_t block_begin, int32_t block_end);
// As CpuTable's, also of what pack_blocks rearranged.
void dequantise(const Matrix& w, int32_t row, float scale, float* y);

}  // namespace paceline::kernels::neon
