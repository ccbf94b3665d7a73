// y [rows, N] = x [rows, K] · W [N, K]^T, W in affine groups of 8 or 4 bits, x in 8 bits with a scale per row and
// group; for sets that keep one output in each lane.
//
// Layout: W as in the checkpoint. For as many outputs as there are lanes, kPackedColumns columns at a time are turned
// so that lane n of a vector holds four neighbouring bytes of output n (the scales and biases alike); that chunk stays
// in the first cache while all rows pass over it. x is what portable/act.h describes, for q4 in the order in which
// bytes unpack: of every 8 columns the even ones, then the odd ones.
//
// Per group g of one output n and row r: D = Σ q_w q_x, exact in int32; then in float32, groups ascending,
//   sum = fma(D, s[n,g] * a[r,g], sum);  sum = fma(b[n,g], a[r,g] * Σ q_x, sum)
// with s, b the group's scale and bias and a the row's scale. Lanes only ever hold different outputs and chunks only
// park the sum in y, so every shape gives the same bits (those of NEON's kernel, too).
//
// Bound: with few rows the bytes of W, each read once; turning them costs less than reading them from memory. With many
// rows the set's dot product.
//
// A set S has
//   V            its float32 vector (math.h)
//   Int          kLanes int32
//   kRows        rows computed side by side: 4 or 8
//   kBlocks      blocks of 16 bytes that are best turned at once: as many as lie in a cache line, if registers allow
//   turn<B>(rows, at, out)          out[4 * b + u], lane i: bytes at + 16 * b + 4 * u … + 3 of rows[i]
//   to_float(Int), as_float(Int)    converted; the same bits
//   bf16_low(Int), bf16_high(Int)   float32 of the lower or upper half of each lane
//   unpack<kNibbles>(Int, out)      stores one vector of weight bytes as dots wants it
//   packed_bytes<kNibbles>(columns) how much that takes, at most 16 a column
//   dots<kNibbles, MR, kStep>(packed, x, stride, group, d)   D of one group for MR rows of x; group: whole steps
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/cpu_table.h"
#include "kernels/lanes/elementwise.h"
#include "kernels/portable/act.h"

namespace paceline::kernels::lanes {

// A multiple of every group and block; 16 KiB of packed weights.
inline constexpr int32_t kPackedColumns = 1024;
// How far ahead of the turning weights are fetched: about memory's latency at a core's share of the bandwidth.
inline constexpr int64_t kFetchAheadBytes = 512;
// From this many rows on, a chunk's columns of x are worth keeping in the second cache for several tiles of outputs.
inline constexpr int32_t kManyRows = 32;
inline constexpr int32_t kPanelOutputs = 128;

template <class S>
struct PackedChunk {
  static constexpr int kLanes = S::V::kLanes;
  static constexpr int kMaxGroups = kPackedColumns / 16;
  int32_t n = 0, outputs = 0;  // first output, and how many lanes count
  int32_t first_group = 0, groups = 0;
  alignas(64) uint8_t values[kPackedColumns * 16];
  alignas(64) float scales[kMaxGroups * kLanes];  // [group][lane]
  alignas(64) float biases[kMaxGroups * kLanes];
};

// rows[i]: row n + i of `base`, the last one that counts standing in for those beyond it.
template <class S>
[[gnu::noinline]] void row_pointers(const PackedChunk<S>& chunk, const void* base, int64_t row_bytes,
                                    const uint8_t** rows) {
  for (int i = 0; i < PackedChunk<S>::kLanes; ++i)
    rows[i] = static_cast<const uint8_t*>(base) + (chunk.n + (i < chunk.outputs ? i : chunk.outputs - 1)) * row_bytes;
}

template <class S>
[[gnu::noinline]] void pack_scales(const Matrix& w, const PackedChunk<S>& chunk, const void* scales, float* out) {
  using V = typename S::V;
  const bool is_bf16 = w.scale_dtype == DType::bf16;
  const int64_t element = is_bf16 ? 2 : 4;
  const uint8_t* rows[V::kLanes];
  row_pointers(chunk, scales, w.cols / w.group * element, rows);
  const int64_t begin = chunk.first_group * element, end = begin + chunk.groups * element;
  for (int64_t at = begin; at < end; at += 16) {
    typename S::Int units[4];
    if (at + 16 <= end) {
      S::template turn<1>(rows, at, units);
    } else {
      uint8_t padded[V::kLanes][16] = {};
      const uint8_t* tails[V::kLanes];
      for (int i = 0; i < V::kLanes; ++i) {
        std::memcpy(padded[i], rows[i] + at, static_cast<size_t>(end - at));
        tails[i] = padded[i];
      }
      S::template turn<1>(tails, 0, units);
    }
    for (const auto unit : units) {
      V::store(out, is_bf16 ? S::bf16_low(unit) : S::as_float(unit));
      out += V::kLanes;
      if (!is_bf16) continue;
      V::store(out, S::bf16_high(unit));
      out += V::kLanes;
    }
  }
}

template <class S, bool kNibbles>
[[gnu::noinline]] void pack_values(const Matrix& w, PackedChunk<S>& chunk) {
  constexpr int kLanes = PackedChunk<S>::kLanes;
  constexpr int kStep = 16 * S::kBlocks;
  const int64_t row_bytes = kNibbles ? w.cols / 2 : w.cols, group_bytes = kNibbles ? w.group / 2 : w.group;
  const uint8_t* rows[kLanes];
  row_pointers(chunk, w.values, row_bytes, rows);
  uint8_t* out = chunk.values;
  int64_t at = chunk.first_group * group_bytes;
  const int64_t end = at + chunk.groups * group_bytes;
  for (; at + kStep <= end; at += kStep) {
    // Past the end of these rows follow those of the next outputs.
    const int64_t ahead = at + kFetchAheadBytes;
    const int64_t fetch = ahead < row_bytes ? ahead : ahead + (kLanes - 1) * row_bytes;
    for (int i = 0; i < kLanes; ++i) __builtin_prefetch(rows[i] + fetch);
    typename S::Int units[4 * S::kBlocks];
    S::template turn<S::kBlocks>(rows, at, units);
    for (const auto unit : units) {
      S::template unpack<kNibbles>(unit, out);
      out += S::template packed_bytes<kNibbles>(kNibbles ? 8 : 4);
    }
  }
  for (; at < end; at += 16) {
    typename S::Int units[4];
    S::template turn<1>(rows, at, units);
    for (const auto unit : units) {
      S::template unpack<kNibbles>(unit, out);
      out += S::template packed_bytes<kNibbles>(kNibbles ? 8 : 4);
    }
  }
}

// Rows r … r + MR - 1: adds the chunk's groups to the sums in y [rows, ldy].
template <class S, bool kNibbles, int kStep, int MR>
[[gnu::noinline]] void packed_rows(const PackedChunk<S>& chunk, const Act& x, int32_t r, float* y, int64_t ldy) {
  using V = typename S::V;
  const int32_t cols = x.shape.cols, group = x.shape.group, row_groups = cols / group;
  const portable::QuantisedRows parts = portable::quantised_rows(x);
  const int8_t* q = parts.q + static_cast<int64_t>(r) * cols + chunk.first_group * group;
  const float* scales = parts.scales + static_cast<int64_t>(r) * row_groups + chunk.first_group;
  const float* scaled_sums = parts.sums + static_cast<int64_t>(r) * row_groups + chunk.first_group;
  float* out = y + r * ldy + chunk.n;
  const bool whole = chunk.outputs == V::kLanes;

  typename V::F sums[MR];
  for (int m = 0; m < MR; ++m) {
    if (chunk.first_group == 0)
      sums[m] = V::set1(0);
    else
      sums[m] = whole ? V::load(out + m * ldy) : load_tail<V>(out + m * ldy, chunk.outputs, 0);
  }
  for (int32_t g = 0; g < chunk.groups; ++g) {
    typename S::Int d[MR];
    S::template dots<kNibbles, MR, kStep>(chunk.values + S::template packed_bytes<kNibbles>(g * group), q + g * group,
                                          cols, group, d);
    const auto s = V::load(chunk.scales + g * V::kLanes), b = V::load(chunk.biases + g * V::kLanes);
    for (int m = 0; m < MR; ++m) {
      const int64_t at = static_cast<int64_t>(m) * row_groups + g;
      sums[m] = V::fma(S::to_float(d[m]), V::mul(s, V::set1(scales[at])), sums[m]);
      sums[m] = V::fma(b, V::set1(scaled_sums[at]), sums[m]);
    }
  }
  for (int m = 0; m < MR; ++m) {
    if (whole)
      V::store(out + m * ldy, sums[m]);
    else
      store_tail<V>(out + m * ldy, chunk.outputs, sums[m]);
  }
}

// pack(chunk): turns the chunk's outputs and groups of W into its values, scales and biases.
template <class S, bool kNibbles, int kStep, class Pack>
inline void matmul_chunks(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end,
                          Pack pack) {
  constexpr int kLanes = S::V::kLanes;
  const int32_t rows = x.shape.rows, groups = w.cols / w.group, chunk_groups = kPackedColumns / w.group;
  const int32_t panel = rows >= kManyRows ? kPanelOutputs : kLanes;
  PackedChunk<S> chunk;
  for (int32_t first = n_begin; first < n_end; first += panel) {
    const int32_t last = first + panel < n_end ? first + panel : n_end;
    for (int32_t g = 0; g < groups; g += chunk_groups) {
      chunk.first_group = g;
      chunk.groups = groups - g < chunk_groups ? groups - g : chunk_groups;
      for (int32_t n = first; n < last; n += kLanes) {
        chunk.n = n;
        chunk.outputs = last - n < kLanes ? last - n : kLanes;
        pack(chunk);
        int32_t r = 0;
        for (; r + S::kRows <= rows; r += S::kRows) packed_rows<S, kNibbles, kStep, S::kRows>(chunk, x, r, y, ldy);
        if constexpr (S::kRows > 4)
          for (; r + 4 <= rows; r += 4) packed_rows<S, kNibbles, kStep, 4>(chunk, x, r, y, ldy);
        for (; r + 2 <= rows; r += 2) packed_rows<S, kNibbles, kStep, 2>(chunk, x, r, y, ldy);
        for (; r < rows; ++r) packed_rows<S, kNibbles, kStep, 1>(chunk, x, r, y, ldy);
      }
    }
  }
}

template <class S, bool kNibbles>
inline void matmul_packed_as(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  matmul_chunks<S, kNibbles, 32>(w, x, y, ldy, n_begin, n_end, [&](PackedChunk<S>& chunk) {
    pack_scales<S>(w, chunk, w.scales, chunk.scales);
    pack_scales<S>(w, chunk, w.biases, chunk.biases);
    pack_values<S, kNibbles>(w, chunk);
  });
}

template <class S>
void matmul_packed(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  if (w.format == WeightFormat::q4)
    matmul_packed_as<S, true>(w, x, y, ldy, n_begin, n_end);
  else
    matmul_packed_as<S, false>(w, x, y, ldy, n_begin, n_end);
}

}  // namespace paceline::kernels::lanes
