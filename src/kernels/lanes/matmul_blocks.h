// y [rows, N] = x [rows, K] · W [N, K]^T, W in blocks (tensor/blocks.h), x in 8 bits with a scale per row and group;
// for sets that keep one output in each lane.
//
// Layout: W as lanes/blocks_layout.h has it. Few rows take codes from memory into registers; for many, parts are
// unpacked first, once for all rows of x. What is done with a group's codes, scale and bias is done in
// lanes/matmul_packed.h: so is the order of all sums. A code is multiplied as it is, its zero being part of the group's
// bias, which is exact.
//
// Bound: with few rows the bytes of W, each read once. With many rows the set's dot product.
//
// A set has, besides what matmul_packed.h and units.h want,
//   UnitSums<kMost, kUnits, MR>   D of one group for MR rows of x, of codes up to kMost: add<u>(unit, x, stride) for
//                                 all units, ascending, x being the unit's columns; then d
//   kIsUnit<kMost>                whether such codes are unpacked as units; otherwise as those of q8
//   bytes_to_float(p), signed_to_float(p)   a byte for each lane
// and its V load_e4m3(p, size), a byte of E4M3 for each lane, times a power of two.
#pragma once

#include <type_traits>

#include "base/check.h"
#include "kernels/lanes/matmul_packed.h"
#include "kernels/lanes/packed_blocks.h"

namespace paceline::kernels::lanes {

// The groups of one of the runs that scales are laid out in, and what they have in common. g: the group's place in it.
template <class S, WeightFormat kFormat, bool kFetches>
struct BlockGroups {
  using V = typename S::V;
  using Int = typename S::Int;
  static constexpr BlocksLayout kLayout = blocks_layout(kFormat);
  static constexpr int kLanes = V::kLanes;
  static constexpr int32_t group = kLayout.group;
  const uint8_t* header;
  typename V::F factor{}, least_factor{};

  [[gnu::always_inline]] explicit BlockGroups(const uint8_t* p) : header(p) {
    if constexpr (kLayout.in_products()) factor = halves(0);
    if constexpr (kLayout.in_products() && kLayout.least) least_factor = V::mul(halves(1), V::set1(-1.0f));
  }

  auto scales(int32_t g) const {
    if constexpr (kLayout.scales == Scales::e4m3)
      return V::load_e4m3(header + g * kLanes, 0.5f);
    else if constexpr (kLayout.scales == Scales::bf16)
      return V::load_bf16(reinterpret_cast<const uint16_t*>(header) + g * kLanes);
    else if constexpr (kLayout.scales == Scales::f16)
      return halves(g);
    else if constexpr (kLayout.scales == Scales::signed_products)
      return V::mul(factor, S::signed_to_float(numbers(g)));
    else
      return V::mul(factor, S::bytes_to_float(numbers(g)));
  }
  auto biases(int32_t g) const {
    if constexpr (!kLayout.least)
      return V::mul(scales(g), V::set1(-static_cast<float>(block_zero(kFormat))));
    else if constexpr (!kLayout.in_products())
      return halves(kLayout.groups + g);
    else
      return V::mul(least_factor, S::bytes_to_float(numbers(kLayout.groups + g)));
  }
  template <class F>
  [[gnu::always_inline]] void units(int32_t g, const F& f) const {
    for_units<S, kLayout.codes, group, kFetches>(header + kLayout.header_bytes() * kLanes, g, f);
  }
  template <int MR>
  [[gnu::always_inline]] void dots(int32_t g, const int8_t* x, int64_t stride, Int (&d)[MR]) const {
    typename S::template UnitSums<most_code(kLayout.codes), group / 4, MR> sums;
    units(
        g, [&]<int u>(Int unit) __attribute__((always_inline)) { sums.template add<u>(unit, x + 4 * u, stride); });
    for (int m = 0; m < MR; ++m) d[m] = sums.d[m];
  }

 private:
  [[nodiscard]] auto halves(int32_t i) const {
    return V::load_f16(reinterpret_cast<const uint16_t*>(header) + i * kLanes);
  }
  // Where scales are products.
  [[nodiscard]] const uint8_t* numbers(int32_t g) const { return header + (4 + g) * kLanes; }
};

// Weights of a part in a packed matrix: what lanes/matmul_packed.h has for those in affine groups.
template <class S, WeightFormat kFormat, bool kFetches>
struct PackedBlocksPart {
  using Groups = BlockGroups<S, kFormat, kFetches>;
  static constexpr BlocksLayout kLayout = Groups::kLayout;
  static constexpr int kLanes = S::V::kLanes;
  static constexpr int32_t kTogether = kLayout.groups;
  const uint8_t* first;

  // All parts begin with a group that scales are laid out from.
  PackedBlocksPart(const Matrix& w, const OutputPart& part)
      : first(static_cast<const uint8_t*>(w.values) +
              static_cast<size_t>(part.n / kLanes) * block_of_rows_bytes(kLayout, w.cols, kLanes) +
              static_cast<size_t>(part.first_group / kTogether) * part_bytes(kLayout, kLanes)) {}

  [[gnu::always_inline]] Groups from_group(int32_t g) const {
    return Groups(first + static_cast<size_t>(g / kTogether) * part_bytes(kLayout, kLanes));
  }
};

// Weights of a part, unpacked to units.
template <class S, int kMost, int32_t kGroup>
struct UnpackedUnits {
  using Int = typename S::Int;
  const PackedChunk<S>& chunk;

  UnpackedUnits(const Matrix&, const PackedChunk<S>& part) : chunk(part) {}

  static constexpr int32_t kTogether = kAllGroups;
  const UnpackedUnits& from_group(int32_t) const { return *this; }

  auto scales(int32_t g) const { return S::V::load(chunk.scales + g * S::V::kLanes); }
  auto biases(int32_t g) const { return S::V::load(chunk.biases + g * S::V::kLanes); }
  template <int MR>
  [[gnu::always_inline]] void dots(int32_t g, const int8_t* x, int64_t stride, Int (&d)[MR]) const {
    const uint8_t* const values = chunk.values + static_cast<size_t>(g) * (kGroup / 4) * sizeof(Int);
    typename S::template UnitSums<kMost, kGroup / 4, MR> sums;
    repeat<0, kGroup / 4>([&]<int u>() __attribute__((always_inline)) {
      sums.template add<u>(S::load(values + u * sizeof(Int)), x + 4 * u, stride);
    });
    for (int m = 0; m < MR; ++m) d[m] = sums.d[m];
  }
};

template <class S, WeightFormat kFormat>
[[gnu::noinline]] void unpack_blocks(const PackedBlocksPart<S, kFormat, false>& from, PackedChunk<S>& chunk) {
  using Int = typename S::Int;
  using From = PackedBlocksPart<S, kFormat, false>;
  for (int32_t at = 0; at < chunk.groups; ++at) {
    const auto groups = from.from_group(at);
    const int32_t g = at % From::kLayout.groups;
    S::V::store(chunk.scales + at * S::V::kLanes, groups.scales(g));
    S::V::store(chunk.biases + at * S::V::kLanes, groups.biases(g));
    groups.units(g, [&]<int u>(Int unit) {
      const int32_t column = at * From::kLayout.group + 4 * u;
      if constexpr (S::template kIsUnit<most_code(From::kLayout.codes)>)
        S::append(unit, chunk.values + static_cast<size_t>(column / 4) * sizeof unit);
      else
        S::template unpack<false>(unit, chunk.values + S::template packed_bytes<false>(column));
    });
  }
}

template <class S, WeightFormat kFormat>
void matmul_packed_blocks(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  constexpr BlocksLayout kLayout = blocks_layout(kFormat);
  constexpr int kMost = most_code(kLayout.codes);
  if (x.shape.rows >= kManyRows) {
    using Part = std::conditional_t<S::template kIsUnit<kMost>, UnpackedUnits<S, kMost, kLayout.group>,
                                    UnpackedPart<S, false, kLayout.group>>;
    return matmul_chunks<S, Part>(w, x, y, ldy, n_begin, n_end, [&](PackedChunk<S>& chunk) {
      unpack_blocks<S, kFormat>(PackedBlocksPart<S, kFormat, false>(w, chunk), chunk);
    });
  }
  for_parts<S>(w, x.shape.rows, n_begin, n_end, w.cols / w.group, [&](const OutputPart& part) {
    add_part<S>(PackedBlocksPart<S, kFormat, true>(w, part), part, x, y, ldy);
  });
}

// Blocks whose scales are numbers, and below those whose scales are products: each in a file of its own, since
// compilers take long over either.
template <class S>
void matmul_blocks(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  const auto run = [&]<WeightFormat kFormat>() { matmul_packed_blocks<S, kFormat>(w, x, y, ldy, n_begin, n_end); };
  CHECK(w.packed);  // as they lie in the file nobody reads them here
  switch (w.format) {
    case WeightFormat::q4_0: return run.template operator()<WeightFormat::q4_0>();
    case WeightFormat::q4_1: return run.template operator()<WeightFormat::q4_1>();
    case WeightFormat::q5_0: return run.template operator()<WeightFormat::q5_0>();
    case WeightFormat::q5_1: return run.template operator()<WeightFormat::q5_1>();
    case WeightFormat::iq4_nl: return run.template operator()<WeightFormat::iq4_nl>();
    case WeightFormat::mxfp4: return run.template operator()<WeightFormat::mxfp4>();
    case WeightFormat::nvfp4:
    case WeightFormat::nvfp4_split: return run.template operator()<WeightFormat::nvfp4>();
    default: return run.template operator()<WeightFormat::q8_0>();
  }
}

template <class S>
void matmul_super_blocks(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  const auto run = [&]<WeightFormat kFormat>() { matmul_packed_blocks<S, kFormat>(w, x, y, ldy, n_begin, n_end); };
  CHECK(w.packed);
  switch (w.format) {
    case WeightFormat::q2_k: return run.template operator()<WeightFormat::q2_k>();
    case WeightFormat::q3_k: return run.template operator()<WeightFormat::q3_k>();
    case WeightFormat::q4_k: return run.template operator()<WeightFormat::q4_k>();
    case WeightFormat::q5_k: return run.template operator()<WeightFormat::q5_k>();
    case WeightFormat::q6_k: return run.template operator()<WeightFormat::q6_k>();
    default: return run.template operator()<WeightFormat::iq4_xs>();
  }
}

}  // namespace paceline::kernels::lanes
