// y [rows, N] = x [rows, K] · W [N, K]^T where W is small, as attention has it with a page of f32 or bf16: the sums of
// matmul_f32.h, and so its bits. V also has
//   sums(v)   of kLanes vectors the sums, one in each lane, with the additions of sum()
//
// As many results as there are lanes are computed side by side, of one to four rows, and folded at once. With few rows
// W is widened in registers; with more a block of it is widened once, to memory that stays in the first cache.
// Bound: arithmetic, one operation for kLanes products and 45 (16 lanes; 8: 21) for kLanes results. Next to that
// memory's latency: what comes next is asked for in the order in which it lies, a part for each part that is
// multiplied.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/cpu_table.h"
#include "kernels/lanes/ahead.h"
#include "kernels/lanes/matmul_f32.h"
#include "kernels/lanes/page_values.h"

namespace paceline::kernels::lanes {

// Floats of a block that is widened: half of the first cache.
inline constexpr int32_t kWidenedFloats = 4096;

// Columns of a few rows for which memory is asked at a time.
inline constexpr int32_t kAskedColumns = 32;

// kLanes / MR outputs of MR rows, all of K, a multiple of kLanes: out [MR][outputs].
template <class V, class Read, int MR, bool kAsks>
[[gnu::noinline]] void page_tile(const typename Read::Element* const* rows, const float* x, int64_t stride,
                                 int32_t cols, Ahead& ahead, float* out) {
  constexpr int NR = V::kLanes / MR;
  const typename Read::Element* w[NR];
#pragma GCC unroll 16
  for (int n = 0; n < NR; ++n) w[n] = rows[n];
  typename V::F sums[V::kLanes];
#pragma GCC unroll 16
  for (int i = 0; i < V::kLanes; ++i) sums[i] = V::set1(0);
  constexpr int kStep = kAsks ? kAskedColumns : V::kLanes;
  for (int32_t first = 0; first < cols; first += kStep) {
    if constexpr (kAsks) ahead.ask();
#pragma GCC unroll 4
    for (int32_t k = first; k < first + kStep; k += V::kLanes) {
      typename V::F values[MR];
#pragma GCC unroll 4
      for (int m = 0; m < MR; ++m) values[m] = V::load(x + m * stride + k);
#pragma GCC unroll 16
      for (int n = 0; n < NR; ++n) {
        const auto weight = Read::load(w[n] + k);
#pragma GCC unroll 4
        for (int m = 0; m < MR; ++m) sums[m * NR + n] = V::fma(weight, values[m], sums[m * NR + n]);
      }
    }
  }
  V::store(out, V::sums(sums));
}

// Some outputs that lie one behind the other, and where their results go.
template <class Read>
struct PageOutputs {
  const typename Read::Element* w;
  int64_t stride;
  int32_t cols, count;
  float* y;
  int64_t ldy;
};

// MR rows.
template <class V, class Read, int MR, bool kAsks>
void page_rows(const PageOutputs<Read>& outputs, const float* x, int64_t stride, Ahead& ahead, float* y) {
  constexpr int NR = V::kLanes / MR;
  for (int32_t n = 0; n < outputs.count; n += NR) {
    const typename Read::Element* rows[NR];
    alignas(64) float out[V::kLanes];
    const int32_t last = outputs.count - 1;
    for (int i = 0; i < NR; ++i) rows[i] = outputs.w + (n + i < last ? n + i : last) * outputs.stride;
    if constexpr (!kAsks) ahead.ask();
    page_tile<V, Read, MR, kAsks>(rows, x, stride, outputs.cols, ahead, out);
    for (int m = 0; m < MR; ++m) {
      if (n + NR <= outputs.count)
        std::memcpy(y + m * outputs.ldy + n, out + m * NR, NR * sizeof(float));
      else
        for (int i = 0; n + i < outputs.count; ++i) y[m * outputs.ldy + n + i] = out[m * NR + i];
    }
  }
}

template <class V, class Read, bool kAsks>
void all_page_rows(const PageOutputs<Read>& outputs, const Act& x, Ahead& ahead) {
  const int64_t stride = f32_stride<V>(outputs.cols);
  const auto* rows = static_cast<const float*>(x.bytes);
  int32_t m = 0;
  const auto some = [&]<int MR>() {
    for (; m + MR <= x.shape.rows; m += MR)
      page_rows<V, Read, MR, kAsks>(outputs, rows + m * stride, stride, ahead, outputs.y + m * outputs.ldy);
  };
  some.template operator()<4>();
  some.template operator()<2>();
  some.template operator()<1>();
}

template <class V, class Read>
void matmul_page_as(const Matrix& w, const void* ahead, const Act& x, const PageOutputs<Read>& all) {
  const int64_t bytes = w.rows * w.stride() * static_cast<int64_t>(sizeof *all.w);
  if (row_tiles(x.shape.rows) == 1 && all.cols % kAskedColumns == 0) {
    const int32_t outputs = V::kLanes / x.shape.rows, tiles = (all.count + outputs - 1) / outputs;
    Ahead next(ahead, bytes, tiles * (all.cols / kAskedColumns));
    return all_page_rows<V, Read, true>(all, x, next);
  }
  alignas(64) float widened[kWidenedFloats];
  const int32_t block = kWidenedFloats / all.cols;
  Ahead next(ahead, bytes, (all.count * x.shape.rows + V::kLanes - 1) / V::kLanes);
  for (int32_t n = 0; n < all.count; n += block) {
    const int32_t count = all.count - n < block ? all.count - n : block;
    for (int32_t i = 0; i < count; ++i)
      for (int32_t k = 0; k < all.cols; k += V::kLanes)
        V::store(widened + i * all.cols + k, Read::load(all.w + (n + i) * all.stride + k));
    all_page_rows<V, ReadF32<V>, false>({widened, all.cols, all.cols, count, all.y + n, all.ldy}, x, next);
  }
}

template <class S>
void matmul_page(const Matrix& w, const void* ahead, const Act& x, float* y, int64_t ldy, int32_t n_begin,
                 int32_t n_end) {
  using V = typename S::V;
  const bool whole = n_begin == 0 && n_end == w.rows;
  if (w.format == WeightFormat::bf16 && whole && w.cols == kPageTokens && w.stride() == kPageTokens &&
      w.rows % TurnedValues<S>::kOutputs == 0)
    return matmul_values<S>(w, ahead, x, y, ldy);
  if (w.cols % V::kLanes != 0 || w.cols * V::kLanes / 4 > kWidenedFloats)
    return matmul_f32<V>(w, x, y, ldy, n_begin, n_end);
  const auto run = [&]<class Read>(Read) {
    const auto* values = static_cast<const typename Read::Element*>(w.values);
    matmul_page_as<V, Read>(w, ahead, x,
                            {values + n_begin * w.stride(), w.stride(), w.cols, n_end - n_begin, y + n_begin, ldy});
  };
  if (w.format == WeightFormat::f32)
    run(ReadF32<V>{});
  else
    run(ReadBf16<V>{});
}

}  // namespace paceline::kernels::lanes
