// AVX-512's set of lanes/matmul_packed.h where there are tiles of AMX: up to 16 rows take a group of weights at once. A
// group's vectors, one after the other, are the tile that its product wants. Same integers, same order of sums: the
// same bits.
//
// Bound: per group of 64 and 16 outputs by 16 rows the product takes 16 cycles, its result 16 to be stored, and scales
// and biases, four operations a row and twice as many loads, 32 to 40: the latter, whatever the number of rows. It
// reaches half of that bound.
#pragma once

#include "kernels/avx512/packed_set.h"
#include "kernels/avx512/tiles.h"

namespace paceline::kernels::avx512 {

struct TileSet : PackedSet {
  static constexpr bool kAddsRows = true;
  // Whether they are quicker than row by row. Nibbles are unpacked into memory for them.
  static constexpr bool pays(const ActShape& x) {
    return x.group >= kTileBytes && x.rows >= (x.kind == ActKind::nibbles ? 5 : 3);
  }
  // Groups whose products are made while sums of those before are added up.
  static constexpr int kTogether = 2;
  static constexpr int kTilesAheadBytes = 8192;
  using Result = int32_t[kTileRows][16];

  // Besides what portable/act.h describes: rows' scales and scaled sums once more, group by group, so that those of 16
  // rows lie side by side: [groups][2][rows], rows rounded up to whole tiles.
  static int32_t rows_in_tiles(int32_t rows) { return (rows + kTileRows - 1) / kTileRows * kTileRows; }
  static size_t scales_bytes(const ActShape& shape) {
    return static_cast<size_t>(shape.cols / shape.group) * 2 * static_cast<size_t>(rows_in_tiles(shape.rows)) *
           sizeof(float);
  }
  static size_t scales_begin(const ActShape& shape) { return (portable::act_bytes(shape) + 63) / 64 * 64; }
  static float* scales_of(const Act& act) {
    return reinterpret_cast<float*>(static_cast<char*>(act.bytes) + scales_begin(act.shape));
  }

  template <class From>
  static void add_rows(const From& from, const lanes::OutputPart& part, const Act& x, float* y, int64_t ldy) {
    const int32_t rows = x.shape.rows;
    if (rows <= 4)
      Walk<4, From>{from, part, x, 0, 0}.run(y, ldy);
    else if (rows <= 8)
      Walk<8, From>{from, part, x, 0, 0}.run(y, ldy);
    else
      for (int32_t r = 0; r < rows; r += kTileRows) {
        // The last 16 once more, where fewer are left.
        const int32_t first = rows < kTileRows || r + kTileRows <= rows ? r : rows - kTileRows;
        Walk<16, From>{from, part, x, first, r - first}.run(y, ldy);
      }
  }

 private:
  // Up to M rows from `first` on; `done` of these are there already.
  template <int M, class From>
  struct Walk {
    const From& from;
    const lanes::OutputPart& part;
    const Act& x;
    int32_t first, done;

    [[gnu::noinline]] void run(float* y, int64_t ldy) const {
      const int64_t cols = x.shape.cols, stride = rows_in_tiles(x.shape.rows);
      const int32_t group = x.shape.group, groups = part.groups;
      const int8_t* q = portable::quantised_rows(x).q + first * cols + part.first_group * group;
      const float* scales = scales_of(x) + 2 * stride * part.first_group + first;
      const From w = from;
      const int32_t end = x.shape.rows - first < M ? x.shape.rows - first : M;
      const auto mask = static_cast<__mmask16>(0xffff >> (16 - part.outputs));
      float* out = y + first * ldy + part.n;

      __m512 sums[M];
#pragma GCC unroll 16
      for (int m = 0; m < M; ++m)
        sums[m] = part.first_group == 0 || m >= end ? _mm512_setzero_ps() : _mm512_maskz_loadu_ps(mask, out + m * ldy);
      // What follows is far from this: its addresses are not worth registers meanwhile.
      asm("" : "+r"(ldy));
      alignas(64) Result results[2][kTogether];
      alignas(64) uint8_t unpacked[kTogether][From::kUnpackedBytes];
      const auto multiply = [&]<int kTo>(int32_t g) {
        const uint8_t* bytes = w.as_bytes(g, unpacked[kTo]);
        if constexpr (From::kFromMemory)
          for (size_t at = 0; at < w.value_bytes(); at += 64) __builtin_prefetch(w.values(g) + at + kTilesAheadBytes);
        add_group<kTo>(q + g * group, cols, bytes, group);
      };
      const auto multiply_some = [&](int32_t g, Result* to) {
        multiply.template operator()<0>(g);
        if (g + 1 < groups) multiply.template operator()<1>(g + 1);
        store_tile<0>(to[0]);
        if (g + 1 < groups) store_tile<1>(to[1]);
      };
      multiply_some(0, results[0]);
      for (int32_t g = 0, turn = 0; g < groups; g += kTogether, turn ^= 1) {
        if (g + kTogether < groups) multiply_some(g + kTogether, results[turn ^ 1]);
        for (int32_t i = 0; i < kTogether && g + i < groups; ++i, scales += 2 * stride)
          add(results[turn][i], w.scales(g + i), w.biases(g + i), scales, scales + stride, sums);
      }
#pragma GCC unroll 16
      for (int m = 0; m < M; ++m)
        if (m >= done && m < end) _mm512_mask_storeu_ps(out + m * ldy, mask, sums[m]);
    }

   private:
    // A group's product, made in tile kTo.
    template <int kTo>
    [[gnu::always_inline]] static void add_group(const int8_t* q, int64_t cols, const uint8_t* w, int32_t group) {
      constexpr int kX = 4 + kTo, kW = 6 + kTo;
      clear_tile<kTo>();
      load_tile<kX>(q, cols);
      load_tile<kW>(w, kTileBytes);
      add_products<kTo, kX, kW>();
      if (group == kTileBytes) return;
      load_tile<kX>(q + kTileBytes, cols);
      load_tile<kW>(w + kTileBytes * 16, kTileBytes);
      add_products<kTo, kX, kW>();
    }

    [[gnu::always_inline]] static void add(const Result& d, __m512 s, __m512 b, const float* scales,
                                           const float* scaled_sums, __m512 (&sums)[M]) {
#pragma GCC unroll 16
      for (int m = 0; m < M; ++m) {
        const __m512 scale = _mm512_mul_ps(s, _mm512_set1_ps(scales[m]));
        sums[m] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(_mm512_load_si512(d[m])), scale, sums[m]);
        sums[m] = _mm512_fmadd_ps(b, _mm512_set1_ps(scaled_sums[m]), sums[m]);
      }
    }
  };
};

}  // namespace paceline::kernels::avx512
