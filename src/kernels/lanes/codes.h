// What surrounds attention's products in codes, over one query each; and its second product where codes are none.
// Loops over a page's tokens or a head's numbers. Bound by arithmetic: some operations a number, beside the products'
// head_dim.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "kernels/cpu_table.h"
#include "kernels/kv_rotation.h"
#include "kernels/lanes/elementwise.h"
#include "kernels/lanes/matmul_f32.h"
#include "kernels/ops.h"

namespace paceline::kernels::lanes {

// As kv_rotation.cc has it.
template <class V>
float encode(const float* x, int32_t count, int8_t* codes) {
  if (count % V::kLanes != 0) return kernels::encode(x, count, codes);
  auto top = V::set1(0), nothing = V::set1(0);
  for (int32_t i = 0; i < count; i += V::kLanes) {
    const auto value = V::load(x + i);
    top = V::max(top, V::max(value, V::sub(V::set1(0), value)));
    nothing = V::add(nothing, V::mul(value, V::set1(0)));
  }
  const float most = V::top(top);
  const float inverse = most > 0 ? 127.0f / most : 0.0f;
  // What has no codes.
  if (!(V::sum(nothing) == 0 && inverse > 0 && inverse <= std::numeric_limits<float>::max()))
    return kernels::encode(x, count, codes);
  constexpr int32_t kStep = 64;
  float rounded[kStep];
  const auto factor = V::set1(inverse);
  for (int32_t first = 0; first < count; first += kStep) {
    const int32_t n = count - first < kStep ? count - first : kStep;
    for (int32_t i = 0; i < n; i += V::kLanes) V::store(rounded + i, V::round(V::mul(V::load(x + first + i), factor)));
    for (int32_t i = 0; i < n; ++i) codes[first + i] = static_cast<int8_t>(static_cast<int32_t>(rounded[i]));
  }
  return most / 127.0f;
}

template <class V>
void scale_scores(const int32_t* x, float part, const float* scales, bool add, float* y) {
  const auto p = V::set1(part);
  const auto score = [&](int32_t t) { return V::mul(V::load_ints(x + t), V::mul(p, V::load(scales + t))); };
  if (add)
    for (int32_t t = 0; t < kPageTokens; t += V::kLanes) V::store(y + t, V::add(V::load(y + t), score(t)));
  else
    for (int32_t t = 0; t < kPageTokens; t += V::kLanes) V::store(y + t, score(t));
}

template <class V>
float encode_shares(const float* x, const float* scales, uint8_t* codes) {
  constexpr int kVectors = kPageTokens / V::kLanes;
  typename V::F products[kVectors], top[kVectors];
  // A key that is not a number has a scale that is none, and zeros for codes: where it is not seen it changes nothing.
#pragma GCC unroll 16
  for (int i = 0; i < kVectors; ++i) {
    products[i] = V::mul(V::load(x + i * V::kLanes), V::load(scales + i * V::kLanes));
    top[i] = V::at_least(products[i], V::set1(0));
  }
#pragma GCC unroll 4
  for (int half = kVectors / 2; half > 0; half /= 2)
#pragma GCC unroll 8
    for (int i = 0; i < half; ++i) top[i] = V::max(top[i], top[i + half]);
  const float most = V::top(top[0]);
  // What is too small to divide by counts for nothing.
  const float inverse = most > 0x1p-100f ? 255.0f / most : 0.0f;
  // 1.5 * 2^23: a sum with it is rounded to a whole number, to even where it is in the middle, which then lies in its
  // lowest bits.
  const auto factor = V::set1(inverse), last = V::set1(255.0f), magic = V::set1(12582912.0f);
  float whole[kPageTokens];
#pragma GCC unroll 16
  for (int i = 0; i < kVectors; ++i)
    V::store(whole + i * V::kLanes, V::add(V::min(last, V::mul(products[i], factor)), magic));
  for (int32_t t = 0; t < kPageTokens; ++t) codes[t] = static_cast<uint8_t>(std::bit_cast<uint32_t>(whole[t]));
  return inverse > 0 ? most / 255.0f : 0.0f;
}

template <class V>
void blend_codes(float* y, float keep, const int32_t* x, float part, int64_t count) {
  const auto k = V::set1(keep), p = V::set1(part);
  int64_t i = 0;
  for (; i + V::kLanes <= count; i += V::kLanes)
    V::store(y + i, V::fma(V::load_ints(x + i), p, V::mul(V::load(y + i), k)));
  for (; i < count; ++i) {
    const auto value = static_cast<float>(x[i]);
    blend<V>(y + i, keep, &value, part, 1);
  }
}

// Columns [k, k + NV * kLanes) of MR rows. Each sum takes the tokens in turn, so that tiles change no bit.
template <class V, class Read, int MR, int NV>
inline void mix_tile(const typename Read::Element* w, int64_t stride, const float* x, float (*out)[NV * V::kLanes]) {
  typename V::F sums[MR][NV];
  for (auto& row : sums)
    for (auto& sum : row) sum = V::set1(0);
  for (int32_t t = 0; t < kPageTokens; ++t, w += stride) {
    typename V::F values[NV];
    for (int v = 0; v < NV; ++v) values[v] = Read::load(w + v * V::kLanes);
    for (int m = 0; m < MR; ++m) {
      const auto share = V::set1(x[m * kPageTokens + t]);
      for (int v = 0; v < NV; ++v) sums[m][v] = V::fma(values[v], share, sums[m][v]);
    }
  }
  for (int m = 0; m < MR; ++m)
    for (int v = 0; v < NV; ++v) V::store(out[m] + v * V::kLanes, sums[m][v]);
}

// So many columns of a page's tokens, and what of them goes to y.
template <class Read>
struct MixColumns {
  const typename Read::Element* w;
  int64_t stride;
  int32_t k, count;
};

template <class V, class Read, int MR, int NV>
inline void mix_rows(const MixColumns<Read>& columns, const float* x, const float* keep, float* y, int64_t ldy) {
  float out[MR][NV * V::kLanes];
  mix_tile<V, Read, MR, NV>(columns.w, columns.stride, x, out);
  for (int m = 0; m < MR; ++m) blend<V>(y + m * ldy + columns.k, keep[m], out[m], 1.0f, columns.count);
}

// The most rows side by side.
template <class V>
inline constexpr int kMixRows = V::kLanes >= 16 ? 8 : 4;

template <class V, class Read, int NV>
inline void mix_all_rows(const MixColumns<Read>& columns, const float* x, int32_t rows, const float* keep, float* y,
                         int64_t ldy) {
  int32_t m = 0;
  const auto some = [&]<int MR>() {
    for (; m + MR <= rows; m += MR) mix_rows<V, Read, MR, NV>(columns, x + m * kPageTokens, keep + m, y + m * ldy, ldy);
  };
  if constexpr (kMixRows<V> == 8) some.template operator()<8>();
  some.template operator()<4>();
  some.template operator()<2>();
  some.template operator()<1>();
}

// With many rows columns are widened once, to memory that stays in the first cache.
template <class V, class Read>
inline void mix_as(const Matrix& w, const float* x, int32_t rows, const float* keep, float* y, int64_t ldy) {
  constexpr int NV = 2, kStep = NV * V::kLanes;
  const auto* values = static_cast<const typename Read::Element*>(w.values);
  int32_t k = 0;
  for (; k + kStep <= w.cols; k += kStep) {
    if (rows <= kMixRows<V>) {
      mix_all_rows<V, Read, NV>({values + k, w.stride(), k, kStep}, x, rows, keep, y, ldy);
      continue;
    }
    alignas(64) float widened[kPageTokens * kStep];
    for (int32_t t = 0; t < kPageTokens; ++t)
      for (int v = 0; v < NV; ++v)
        V::store(widened + t * kStep + v * V::kLanes, Read::load(values + t * w.stride() + k + v * V::kLanes));
    mix_all_rows<V, ReadF32<V>, NV>({widened, kStep, k, kStep}, x, rows, keep, y, ldy);
  }
  for (; k < w.cols; k += V::kLanes) {
    const int32_t count = w.cols - k < V::kLanes ? w.cols - k : V::kLanes;
    typename Read::Element padded[kPageTokens * V::kLanes] = {};
    for (int32_t t = 0; t < kPageTokens; ++t)
      for (int32_t i = 0; i < count; ++i) padded[t * V::kLanes + i] = values[t * w.stride() + k + i];
    mix_all_rows<V, Read, 1>({padded, V::kLanes, k, count}, x, rows, keep, y, ldy);
  }
}

template <class V>
void mix(const Matrix& w, const float* x, int32_t rows, const float* keep, float* y, int64_t ldy) {
  if (w.format == WeightFormat::f32)
    mix_as<V, ReadF32<V>>(w, x, rows, keep, y, ldy);
  else
    mix_as<V, ReadBf16<V>>(w, x, rows, keep, y, ldy);
}

}  // namespace paceline::kernels::lanes
