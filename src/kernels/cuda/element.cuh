// Single elements of packed matrices: for what reads a row now and then.
#pragma once

#include "kernels/cuda/device.cuh"
#include "kernels/cuda/layout.h"
#include "kernels/cuda/narrow_chunks.cuh"
#include "kernels/cuda/quantised.cuh"

namespace paceline::kernels::cuda {

// The code of a byte, as it counts.
__device__ __forceinline__ float code_number(const Weight& w, uint32_t byte, int32_t col) {
  if (w.format == Format::q4) byte = byte >> (second_four(w.group, col) * 4) & 15u;
  if (!signed_codes(w.scales)) return static_cast<float>(byte);
  const int32_t unused = w.format == Format::q4 ? 28 : 24;
  return static_cast<float>(static_cast<int32_t>(byte << unused) >> unused);
}

// Of q8 or q4, in the matrix of a stack that begins there.
__device__ __forceinline__ float quantised_element(const Weight& w, const char* matrix, int64_t row, int32_t col) {
  const StepPlace at = quantised_place(w, row, col);
  const float code = code_number(w, static_cast<uint8_t>(matrix[at.values]), col);
  if (w.scales == Scales::f32) {
    const float2 s = *reinterpret_cast<const float2*>(matrix + at.scales);
    return s.x * code + s.y;
  }
  const auto* words = reinterpret_cast<const uint32_t*>(matrix + at.scales);
  if (w.scales == Scales::bf16)
    return bf16_bits_to_float(words[0] & 0xffffu) * code + __uint_as_float(words[0] & 0xffff0000u);
  const auto* bytes = reinterpret_cast<const uint8_t*>(words + 1);
  const int32_t run = col % kStepK / w.group;
  if (w.scales == Scales::centred) return code * (run % 2 == 0 ? low_half(words[run / 2]) : high_half(words[run / 2]));
  const float scale = low_half(words[0]);
  if (w.scales == Scales::signed_products) return scale * static_cast<float>(bytes[run] - 128) * code;
  return scale * static_cast<float>(bytes[run]) * code - high_half(words[0]) * static_cast<float>(bytes[4 + run]);
}

// Of f8 or f4, in the matrix of a stack that begins there; without its row's factor.
__device__ __forceinline__ float chunk_element(const Weight& w, const char* matrix, int64_t row, int32_t col) {
  const int64_t tile = row / 16;
  const int r = static_cast<int>(row % 16), g = r % 8, high = r / 8;
  const int k = col % 16, lane = g * 4 + k % 8 / 2, second = k / 8, step = col % kBlockK / 16;
  const char* chunk = matrix + (tile * (w.depth() / kBlockK) + col / kBlockK) * chunk_bytes(w.format);
  if (w.format == Format::f8) {
    const char* word = chunk + (step / 2 * 32 + lane) * 16 + (step % 2 * 2 + second) * 4;
    const uint32_t byte = static_cast<uint8_t>(word[k % 2 * 2 + 1 - high]);
    return __uint_as_float(bf16_of_f8(byte << 8) << 16);
  }
  const uint32_t half = *reinterpret_cast<const uint16_t*>(chunk + lane * 16 + step * 4 + k % 2 * 2);
  const uint32_t scale = *reinterpret_cast<const uint16_t*>(chunk + 512 + g * 16 + step * 4 + high * 2);
  const int number = second * 2 + high;
  const uint32_t raw = number == 0   ? raw_f4(half, 0)
                       : number == 1 ? raw_f4(half, 1)
                       : number == 2 ? raw_f4(half, 2)
                                     : raw_f4(half, 3);
  return __uint_as_float(times_bf16(raw & 0xffffu, scale) << 16);
}

// Element (row, col) of a packed matrix.
__device__ __forceinline__ float element(const Weight& w, int64_t row, int32_t col) {
  const int64_t tile = row / 16;
  const int r = static_cast<int>(row % 16), g = r % 8, high = r / 8;
  if (w.format == Format::f32) return static_cast<const float*>(w.values)[row * w.cols + col];
  if (w.format == Format::f16) return __half2float(static_cast<const __half*>(w.values)[row * w.cols + col]);
  if (w.format == Format::bf16) {
    const int k = col % 16, lane = g * 4 + k % 8 / 2;
    const int64_t at = ((tile * (w.depth() / 16) + col / 16) * 32 + lane) * 8 + (k / 8 * 2 + high) * 2 + k % 2;
    return bf16_bits_to_float(static_cast<const uint16_t*>(w.values)[at]);
  }
  const auto* matrix = static_cast<const char*>(w.values);
  if (w.format == Format::q8 || w.format == Format::q4) return quantised_element(w, matrix, row, col);
  const float value = chunk_element(w, matrix, row, col);
  return w.factors == nullptr ? value : static_cast<float>(static_cast<double>(value) * w.factors[row]);
}

}  // namespace paceline::kernels::cuda
