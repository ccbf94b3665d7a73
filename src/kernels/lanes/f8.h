// E4M3 as bf16, bits to bits, without branches so that compilers use a set's vectors. Set: whose, so that no code is
// shared by files compiled for different processors.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/portable/matmul.h"
#include "tensor/matrix.h"

namespace paceline::kernels::lanes {

// Not of the two codes that are no numbers: loading refuses them.
template <class Set>
[[gnu::always_inline]] inline uint16_t bf16_of_e4m3(uint8_t v) {
  const auto k = static_cast<uint16_t>(v & 0x7f);
  // Below 8 there is no exponent: multiples of 2^-9.
  const auto one = static_cast<uint16_t>(k == 0 ? 0 : 0x3b00);
  const auto few = static_cast<uint16_t>(k < 2 ? one : 0x3b00 + (k << 6));
  const auto small = static_cast<uint16_t>(k < 4 ? few : 0x3b80 + (k << 5));
  const auto number = static_cast<uint16_t>(k < 8 ? small : 0x3c00 + (k << 4));
  return static_cast<uint16_t>(number | (v & 0x80) << 8);
}

template <class Set>
void widen_f8(const uint8_t* __restrict from, int64_t count, uint16_t* __restrict to) {
  for (int64_t i = 0; i < count; ++i) to[i] = bf16_of_e4m3<Set>(from[i]);
}

// As CpuTable's dequantise, of f8 as it lies in files, for sets that have load_e4m3.
template <class V>
void dequantise_f8(const Matrix& w, int32_t row, float scale, float* y) {
  const auto* values = static_cast<const uint8_t*>(w.values) + int64_t{row} * w.cols;
  const auto* scales = reinterpret_cast<const float*>(static_cast<const char*>(w.scales) +
                                                      static_cast<size_t>(row) * w.row_scale_bytes());
  const int32_t group = w.group > 0 ? w.group : w.cols;
  for (int32_t k = 0; k < w.cols; k += group) {
    const int32_t end = k + group < w.cols ? k + group : w.cols;
    const auto own = V::set1(w.group > 0 ? scales[k / group] : 1.0f);
    int32_t i = k;
    for (; i + V::kLanes <= end; i += V::kLanes) V::store(y + i, V::mul(V::load_e4m3(values + i), own));
    uint8_t padded[V::kLanes] = {};
    float rest[V::kLanes];
    for (int32_t j = 0; j < end - i; ++j) padded[j] = values[i + j];
    V::store(rest, V::mul(V::load_e4m3(padded), own));
    for (int32_t j = 0; j < end - i; ++j) y[i + j] = rest[j];
  }
  if (w.factors == nullptr && scale == 1.0f) return;
  for (int32_t k = 0; k < w.cols; ++k) y[k] = portable::times_factor(w, row, y[k]) * scale;
}

}  // namespace paceline::kernels::lanes
