// Dot products of weights with float32 rows: lanes stride over K, so the order follows from K alone.
#pragma once

#include <cuda_fp16.h>

#include "kernels/cuda/device.cuh"
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/layout.h"

namespace paceline::kernels::cuda {

// The lane's share of the dot products of one output with up to kRows rows.
template <int kRows>
__device__ void lane_dots(const Weight& w, const char* values, int32_t output, const float* const (&x)[kRows], int lane,
                          float (&sums)[kRows]) {
#pragma unroll
  for (int r = 0; r < kRows; ++r) sums[r] = 0;
  if (w.format == Format::bf16) {
    // Lanes of a fragment's row: four per step of 16 columns, so eight steps at once.
    const int g = output % 8, high = output / 8 % 2, t = lane % 4;
    const int32_t steps = w.depth() / 16;
    const auto* tile = reinterpret_cast<const uint32_t*>(values) + static_cast<int64_t>(output / 16) * steps * 128;
#pragma unroll kRows == 1 ? 8 : 2
    for (int32_t step = lane / 4; step < steps; step += 8) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const uint32_t pair = tile[(step * 32 + g * 4 + t) * 4 + half * 2 + high];
        const int32_t col = step * 16 + half * 8 + t * 2;
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
          if (col < w.cols) sums[r] = fmaf(bf16_bits_to_float(pair & 0xffffu), x[r][col], sums[r]);
          if (col + 1 < w.cols) sums[r] = fmaf(__uint_as_float(pair & 0xffff0000u), x[r][col + 1], sums[r]);
        }
      }
    }
    return;
  }
  const bool quantised = w.format == Format::q8 || w.format == Format::q4;
  if (quantised || w.format == Format::f8 || w.format == Format::f4) {
    for (int32_t k = lane; k < w.cols; k += 32) {
      const float value = quantised ? quantised_element(w, values, output, k) : chunk_element(w, values, output, k);
#pragma unroll
      for (int r = 0; r < kRows; ++r) sums[r] = fmaf(value, x[r][k], sums[r]);
    }
    return;
  }
  const int64_t row = static_cast<int64_t>(output) * w.cols;
  for (int32_t k = lane; k < w.cols; k += 32) {
    const float value = w.format == Format::f32 ? reinterpret_cast<const float*>(values)[row + k]
                                                : __half2float(reinterpret_cast<const __half*>(values)[row + k]);
#pragma unroll
    for (int r = 0; r < kRows; ++r) sums[r] = fmaf(value, x[r][k], sums[r]);
  }
}

}  // namespace paceline::kernels::cuda
