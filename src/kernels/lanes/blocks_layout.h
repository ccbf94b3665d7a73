// How matrices in blocks (tensor/blocks.h) lie for sets that keep one output in each lane, rearranged once at load: the
// file's numbers to the bit, in about the file's bytes. As many rows as there are lanes make a block of rows, read from
// its first byte to its last; the last row stands in for those beyond N. A block of rows is a run of parts of some
// groups of columns, the last of them filled up; each is
//   scales  [group][lanes], then least numbers likewise where a format has them; or, where scales are products,
//           factors and least factors [lanes], float16, then one byte for each [group][lanes], and the same of least
//           numbers
//   values  runs of vectors [lanes][4 bytes]. Four neighbouring columns are a unit, and one of them a byte of a lane. A
//           run has the low bits of its units, as many units in a vector as there is room for, the first lowest; then
//           one vector of their high bits, where a format has those, in the same order.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/blocks.h"

namespace paceline::kernels::lanes {

// Always inline, and what is not a template of a set likewise in the files that include this: of a function that files
// for several processors have, the linker keeps one, which may be the one for the newest.
enum class Codes : uint8_t {
  bytes,
  nibbles,
  iq4_levels,  // nibbles that stand for others
  fp4_levels,
  fives,  // five bits, four of them low
  sixes,
  twos,
  threes  // two of them low
};

[[gnu::always_inline]] constexpr int32_t low_bits(Codes c) {
  return c == Codes::bytes ? 8 : c == Codes::twos || c == Codes::threes ? 2 : 4;
}
[[gnu::always_inline]] constexpr int32_t high_bits(Codes c) {
  return c == Codes::sixes ? 2 : c == Codes::fives || c == Codes::threes ? 1 : 0;
}
[[gnu::always_inline]] constexpr bool has_levels(Codes c) { return c == Codes::iq4_levels || c == Codes::fp4_levels; }

// The largest that a product sees.
[[gnu::always_inline]] constexpr int32_t most_code(Codes c) {
  if (c == Codes::iq4_levels) return 241;
  if (c == Codes::fp4_levels) return 24;
  return (1 << (low_bits(c) + high_bits(c))) - 1;
}

// Of a run. One of threes belongs to two groups; otherwise a group is some whole runs.
[[gnu::always_inline]] constexpr int32_t run_units(Codes c) {
  return 8 / (high_bits(c) > 0 ? high_bits(c) : low_bits(c));
}
[[gnu::always_inline]] constexpr int32_t low_vectors(Codes c) { return run_units(c) * low_bits(c) / 8; }
[[gnu::always_inline]] constexpr int32_t run_vectors(Codes c) { return low_vectors(c) + (high_bits(c) > 0 ? 1 : 0); }

// e4m3: the byte of the file, half of which is meant.
enum class Scales : uint8_t { f16, bf16, e4m3, products, signed_products };

struct BlocksLayout {
  Codes codes = Codes::bytes;
  Scales scales = Scales::f16;
  bool least = false;  // has least numbers
  int32_t group = 32;
  int32_t groups = 2;  // of a part: what makes its header whole vectors

  [[nodiscard, gnu::always_inline]] constexpr bool in_products() const {
    return scales == Scales::products || scales == Scales::signed_products;
  }
  [[nodiscard, gnu::always_inline]] constexpr size_t scale_bytes() const {
    return scales == Scales::f16 || scales == Scales::bf16 ? sizeof(uint16_t) : 1;
  }
  [[nodiscard, gnu::always_inline]] constexpr int32_t columns() const { return group * groups; }
  [[nodiscard, gnu::always_inline]] constexpr int32_t runs() const { return columns() / 4 / run_units(codes); }
  // Of a part, for a lane; a vector has four bytes of it.
  [[nodiscard, gnu::always_inline]] constexpr size_t header_bytes() const {
    return (in_products() ? 4 : 0) + static_cast<size_t>(groups) * scale_bytes() * (least ? 2 : 1);
  }
  [[nodiscard, gnu::always_inline]] constexpr size_t bytes() const {
    return header_bytes() + static_cast<size_t>(4 * runs() * run_vectors(codes));
  }
};

[[gnu::always_inline]] constexpr BlocksLayout blocks_layout(WeightFormat f) {
  switch (f) {
    case WeightFormat::q4_0: return {Codes::nibbles, Scales::f16};
    case WeightFormat::q4_1: return {Codes::nibbles, Scales::f16, true};
    case WeightFormat::q5_0: return {Codes::fives, Scales::f16};
    case WeightFormat::q5_1: return {Codes::fives, Scales::f16, true};
    case WeightFormat::iq4_nl: return {Codes::iq4_levels, Scales::f16};
    case WeightFormat::mxfp4: return {Codes::fp4_levels, Scales::bf16};
    case WeightFormat::nvfp4:
    case WeightFormat::nvfp4_split: return {Codes::fp4_levels, Scales::e4m3, false, 16, 4};
    case WeightFormat::q2_k: return {Codes::twos, Scales::products, true, 16, 16};
    case WeightFormat::q3_k: return {Codes::threes, Scales::signed_products, false, 16, 16};
    case WeightFormat::q4_k: return {Codes::nibbles, Scales::products, true, 32, 8};
    case WeightFormat::q5_k: return {Codes::fives, Scales::products, true, 32, 8};
    case WeightFormat::q6_k: return {Codes::sixes, Scales::signed_products, false, 16, 16};
    case WeightFormat::iq4_xs: return {Codes::iq4_levels, Scales::signed_products, false, 32, 8};
    default: return {};  // Q8_0
  }
}

[[gnu::always_inline]] constexpr int32_t parts_of_row(const BlocksLayout& layout, int32_t cols) {
  return (cols + layout.columns() - 1) / layout.columns();
}

// Of a part of some rows side by side, and of a block of rows.
[[gnu::always_inline]] constexpr size_t part_bytes(const BlocksLayout& layout, int lanes) {
  return layout.bytes() * static_cast<size_t>(lanes);
}
[[gnu::always_inline]] constexpr size_t block_of_rows_bytes(const BlocksLayout& layout, int32_t cols, int lanes) {
  return static_cast<size_t>(parts_of_row(layout, cols)) * part_bytes(layout, lanes);
}

}  // namespace paceline::kernels::lanes
