// Single elements of packed matrices: for what reads a row now and then.
#pragma once

#include "kernels/cuda/device.cuh"
#include "kernels/cuda/layout.h"

namespace paceline::kernels::cuda {

// Element (row, col) of a packed matrix.
__device__ __forceinline__ float element(const Weight& w, int64_t row, int32_t col) {
  const int64_t tile = row / 16;
  const int r = static_cast<int>(row % 16), g = r % 8, high = r / 8;
  if (w.format == Format::f32) return static_cast<const float*>(w.values)[row * w.cols + col];
  if (w.format == Format::bf16) {
    const int k = col % 16, lane = g * 4 + k % 8 / 2;
    const int64_t at = ((tile * (w.depth() / 16) + col / 16) * 32 + lane) * 8 + (k / 8 * 2 + high) * 2 + k % 2;
    return bf16_bits_to_float(static_cast<const uint16_t*>(w.values)[at]);
  }
  const StepPlace at = quantised_place(w, row, col);
  const char* matrix = static_cast<const char*>(w.values);
  uint32_t q = static_cast<uint8_t>(matrix[at.values]);
  if (w.format == Format::q4) q = q >> (col % 8 / 4 * 4) & 15u;
  if (w.wide_scales) {
    const float2 s = *reinterpret_cast<const float2*>(matrix + at.scales);
    return s.x * static_cast<float>(q) + s.y;
  }
  const uint32_t s = *reinterpret_cast<const uint32_t*>(matrix + at.scales);
  return bf16_bits_to_float(s & 0xffffu) * static_cast<float>(q) + __uint_as_float(s & 0xffff0000u);
}

}  // namespace paceline::kernels::cuda
