// y [rows, N] = x [rows, K] · W [N, K]^T, W in affine groups of 8 or 4 bits, x in 8 bits with a scale per row and
// group; for sets that keep one output in each lane.
//
// Layout: W as lanes/packed.h has it. x is what portable/act.h describes, for q4 in the order in which bytes unpack: of
// every 8 columns the even ones, then the odd ones. A few rows of x take each block of W as it comes from memory. With
// many, blocks stay in the first cache while all rows pass over them, unpacked where that takes more than a load.
//
// Per group g of one output n and row r: D = Σ q_w q_x, exact in int32; then in float32, groups ascending,
//   sum = fma(D, s[n,g] * a[r,g], sum);  sum = fma(b[n,g], a[r,g] * Σ q_x, sum)
// with s, b the group's scale and bias and a the row's scale. Lanes only ever hold different outputs and parts of K
// only park the sum in y, so every shape gives the same bits.
//
// Bound: with few rows the bytes of W, each read once. With many rows the set's dot product.
//
// A set S has
//   V            its float32 vector (math.h)
//   Int          kLanes int32
//   kRows        the most rows computed side by side
//   turn(rows, at, out)             out[u], lane i: bytes at + 4 * u … + 3 of rows[i]; four vectors
//   load(p), append(Int, out)       one vector of memory; append returns what follows it
//   to_float(Int), as_float(Int)    converted; the same bits
//   unpack<kNibbles>(Int, out)      stores one vector of weight bytes as dots wants it
//   kUnpacksBytes                   whether that is more than storing them, for q8
//   packed_bytes<kNibbles>(columns) how much that takes, at most 16 a column
//   dots<kNibbles, MR, kStep>(packed, x, stride, group, d)   D of one group for MR rows of x; group: whole steps
//   dots_packed<kNibbles, MR, kStep, kFetches>(values, x, stride, group, d)   the same of values that are not unpacked,
//                                   while those that follow are asked for
//   kAddsRows, add_rows(from, part, x, y, ldy)   whether it adds all rows in a way of its own, and that way
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/cpu_table.h"
#include "kernels/lanes/elementwise.h"
#include "kernels/lanes/packed.h"
#include "kernels/portable/act.h"

namespace paceline::kernels::lanes {

// A multiple of every group and block; 16 KiB of unpacked weights.
inline constexpr int32_t kPackedColumns = 1024;
// From this many rows on, a part's columns of x are worth keeping in the second cache for several tiles of outputs.
inline constexpr int32_t kManyRows = 32;
inline constexpr int32_t kPanelOutputs = 128;
// The largest group of q8 and q4.
inline constexpr int32_t kMostGroup = 128;

// What is multiplied at once: as many outputs as there are lanes, or fewer at the end, and some groups of columns.
struct OutputPart {
  int32_t n = 0, outputs = 0;
  int32_t first_group = 0, groups = 0;
};

template <class S>
struct PackedChunk : OutputPart {
  static constexpr int kLanes = S::V::kLanes;
  static constexpr int kMaxGroups = kPackedColumns / 16;
  alignas(64) uint8_t values[kPackedColumns * 16];
  alignas(64) float scales[kMaxGroups * kLanes];  // [group][lane]
  alignas(64) float biases[kMaxGroups * kLanes];
};

// A whole part's groups are alike, wherever they begin.
inline constexpr int32_t kAllGroups = 1 << 30;

// Weights of a part, unpacked. g: groups from the part's first one on, here and below.
template <class S, bool kNibbles, int kStep>
struct UnpackedPart {
  const PackedChunk<S>& chunk;
  int32_t group;

  UnpackedPart(const Matrix& w, const PackedChunk<S>& part) : chunk(part), group(w.group) {}

  static constexpr int32_t kTogether = kAllGroups;
  const UnpackedPart& from_group(int32_t) const { return *this; }

  auto scales(int32_t g) const { return S::V::load(chunk.scales + g * S::V::kLanes); }
  auto biases(int32_t g) const { return S::V::load(chunk.biases + g * S::V::kLanes); }
  [[nodiscard]] const uint8_t* values(int32_t g) const {
    return chunk.values + S::template packed_bytes<kNibbles>(g * group);
  }
  static constexpr bool kFromMemory = false;
  static constexpr size_t kUnpackedBytes = 1;
  const uint8_t* as_bytes(int32_t g, uint8_t*) const { return values(g); }
  template <int MR>
  [[gnu::always_inline]] void dots(int32_t g, const int8_t* x, int64_t stride, typename S::Int (&d)[MR]) const {
    S::template dots<kNibbles, MR, kStep>(values(g), x, stride, group, d);
  }
};

template <class S, bool kNibbles>
inline void unpack(const uint8_t* from, size_t bytes, uint8_t* out) {
  for (const uint8_t* end = from + bytes; from < end; from += sizeof(typename S::Int)) {
    S::template unpack<kNibbles>(S::load(from), out);
    out += S::template packed_bytes<kNibbles>(kNibbles ? 8 : 4);
  }
}

// The same as they lie. kFetches: they come from memory.
template <class S, bool kNibbles, class Scale, bool kFetches>
struct PackedPart {
  static constexpr int kLanes = S::V::kLanes;
  static constexpr size_t kHeaderBytes = 2 * kLanes * sizeof(Scale);
  const uint8_t* first;
  size_t bytes_of_group;
  int32_t group;

  PackedPart(const Matrix& w, const OutputPart& part)
      : first(static_cast<const uint8_t*>(w.values) + static_cast<size_t>(part.n / kLanes) * block_bytes<kLanes>(w) +
              static_cast<size_t>(part.first_group) * group_bytes<kLanes>(w)),
        bytes_of_group(group_bytes<kLanes>(w)),
        group(w.group) {}

  static constexpr int32_t kTogether = kAllGroups;
  const PackedPart& from_group(int32_t) const { return *this; }
  [[nodiscard]] const uint8_t* at(int32_t g) const { return first + static_cast<size_t>(g) * bytes_of_group; }
  [[nodiscard]] const uint8_t* values(int32_t g) const { return at(g) + kHeaderBytes; }
  static constexpr bool kFromMemory = kFetches;
  // A group's weights as bytes; `out` is for those of them that do not lie so.
  static constexpr size_t kUnpackedBytes = kNibbles ? kMostGroup * kLanes : 1;
  const uint8_t* as_bytes(int32_t g, uint8_t* out) const {
    if constexpr (!kNibbles) return values(g);
    unpack_values(g, out);
    return out;
  }
  [[nodiscard]] size_t value_bytes() const { return bytes_of_group - kHeaderBytes; }
  void unpack_values(int32_t g, uint8_t* out) const { unpack<S, kNibbles>(values(g), value_bytes(), out); }
  auto scales(int32_t g) const { return load(at(g)); }
  auto biases(int32_t g) const { return load(at(g) + kHeaderBytes / 2); }
  template <int MR>
  [[gnu::always_inline]] void dots(int32_t g, const int8_t* x, int64_t stride, typename S::Int (&d)[MR]) const {
    S::template dots_packed<kNibbles, MR, 32, kFetches>(values(g), x, stride, group, d);
  }

 private:
  static auto load(const uint8_t* p) {
    if constexpr (sizeof(Scale) == sizeof(float))
      return S::V::load(reinterpret_cast<const float*>(p));
    else
      return S::V::load_bf16(reinterpret_cast<const uint16_t*>(p));
  }
};

template <class S, bool kNibbles, class From>
[[gnu::noinline]] void unpack_part(const From& from, PackedChunk<S>& chunk) {
  for (int32_t g = 0; g < chunk.groups; ++g) {
    S::V::store(chunk.scales + g * S::V::kLanes, from.scales(g));
    S::V::store(chunk.biases + g * S::V::kLanes, from.biases(g));
    from.unpack_values(g, chunk.values + S::template packed_bytes<kNibbles>(g * from.group));
  }
}

// Rows r … r + MR - 1: adds the part's groups to the sums in y [rows, ldy].
template <class S, int MR, class From>
[[gnu::noinline]] void packed_rows(const From& from, const OutputPart& part, const Act& x, int32_t r, float* y,
                                   int64_t ldy) {
  using V = typename S::V;
  const int32_t cols = x.shape.cols, group = x.shape.group, row_groups = cols / group;
  const portable::QuantisedRows parts = portable::quantised_rows(x);
  const int8_t* q = parts.q + static_cast<int64_t>(r) * cols + part.first_group * group;
  const float* scales = parts.scales + static_cast<int64_t>(r) * row_groups + part.first_group;
  const float* scaled_sums = parts.sums + static_cast<int64_t>(r) * row_groups + part.first_group;
  float* out = y + r * ldy + part.n;
  const bool whole = part.outputs == V::kLanes;

  typename V::F sums[MR];
  for (int m = 0; m < MR; ++m) {
    if (part.first_group == 0)
      sums[m] = V::set1(0);
    else
      sums[m] = whole ? V::load(out + m * ldy) : load_tail<V>(out + m * ldy, part.outputs, 0);
  }
  for (int32_t begin = 0; begin < part.groups; begin += From::kTogether) {
    const auto groups = from.from_group(begin);
    const int32_t left = part.groups - begin, count = left < From::kTogether ? left : From::kTogether;
    for (int32_t g = 0; g < count; ++g, q += group, ++scales, ++scaled_sums) {
      typename S::Int d[MR];
      groups.template dots<MR>(g, q, cols, d);
      const auto s = groups.scales(g), b = groups.biases(g);
      for (int m = 0; m < MR; ++m) {
        const int64_t at = static_cast<int64_t>(m) * row_groups;
        sums[m] = V::fma(S::to_float(d[m]), V::mul(s, V::set1(scales[at])), sums[m]);
        sums[m] = V::fma(b, V::set1(scaled_sums[at]), sums[m]);
      }
    }
  }
  for (int m = 0; m < MR; ++m) {
    if (whole)
      V::store(out + m * ldy, sums[m]);
    else
      store_tail<V>(out + m * ldy, part.outputs, sums[m]);
  }
}

// The last rows, fewer than 2 * MR.
template <class S, int MR, class From>
inline void last_rows(const From& from, const OutputPart& part, const Act& x, int32_t r, float* y, int64_t ldy) {
  const int32_t left = x.shape.rows - r;
  if (left >= MR) {
    packed_rows<S, MR>(from, part, x, r, y, ldy);
    r += MR;
  }
  if constexpr (MR > 1) {
    if (r < x.shape.rows) last_rows<S, MR - 1>(from, part, x, r, y, ldy);
  }
}

template <class S, class From>
inline void add_part(const From& from, const OutputPart& part, const Act& x, float* y, int64_t ldy) {
  if constexpr (S::kAddsRows) {
    S::add_rows(from, part, x, y, ldy);
  } else {
    int32_t r = 0;
    for (; r + S::kRows <= x.shape.rows; r += S::kRows) packed_rows<S, S::kRows>(from, part, x, r, y, ldy);
    if (r < x.shape.rows) last_rows<S, S::kRows - 1>(from, part, x, r, y, ldy);
  }
}

// Calls f(part) for all outputs of a range, in an order that keeps what is read again in the caches.
template <class S, class F>
inline void for_parts(const Matrix& w, int32_t rows, int32_t n_begin, int32_t n_end, int32_t most_groups, F f) {
  constexpr int kLanes = S::V::kLanes;
  const int32_t groups = w.cols / w.group, panel = rows >= kManyRows ? kPanelOutputs : kLanes;
  for (int32_t first = n_begin; first < n_end; first += panel) {
    const int32_t last = first + panel < n_end ? first + panel : n_end;
    for (int32_t g = 0; g < groups; g += most_groups)
      for (int32_t n = first; n < last; n += kLanes)
        f(OutputPart{n, last - n < kLanes ? last - n : kLanes, g, groups - g < most_groups ? groups - g : most_groups});
  }
}

// unpack(chunk): makes the chunk's values, scales and biases of its outputs and groups of W, as Part reads them.
template <class S, class Part, class Unpack>
inline void matmul_chunks(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end,
                          Unpack unpack) {
  PackedChunk<S> chunk;
  for_parts<S>(w, x.shape.rows, n_begin, n_end, kPackedColumns / w.group, [&](const OutputPart& part) {
    static_cast<OutputPart&>(chunk) = part;
    unpack(chunk);
    add_part<S>(Part(w, chunk), part, x, y, ldy);
  });
}

template <class S, bool kNibbles, class Scale>
inline void matmul_packed_as(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  const auto as_it_lies = [&]<bool kFetches>(int32_t most_groups) {
    for_parts<S>(w, x.shape.rows, n_begin, n_end, most_groups, [&](const OutputPart& part) {
      add_part<S>(PackedPart<S, kNibbles, Scale, kFetches>(w, part), part, x, y, ldy);
    });
  };
  if (x.shape.rows < kManyRows) return as_it_lies.template operator()<true>(w.cols / w.group);
  // Bytes and nibbles are one form where both unpack to bytes.
  using Part = UnpackedPart<S, kNibbles && S::kUnpacksBytes, 32>;
  if constexpr (kNibbles || S::kUnpacksBytes)
    matmul_chunks<S, Part>(w, x, y, ldy, n_begin, n_end, [&](PackedChunk<S>& chunk) {
      unpack_part<S, kNibbles>(PackedPart<S, kNibbles, Scale, false>(w, chunk), chunk);
    });
  else
    as_it_lies.template operator()<false>(kPackedColumns / w.group);
}

template <class S>
void matmul_packed(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  const auto run = [&]<bool kNibbles>() {
    if (w.scale_dtype == DType::bf16) return matmul_packed_as<S, kNibbles, uint16_t>(w, x, y, ldy, n_begin, n_end);
    matmul_packed_as<S, kNibbles, float>(w, x, y, ldy, n_begin, n_end);
  };
  if (w.format == WeightFormat::q4) return run.template operator()<true>();
  run.template operator()<false>();
}

}  // namespace paceline::kernels::lanes
