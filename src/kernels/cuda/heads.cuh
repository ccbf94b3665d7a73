// The arithmetic of one head of one row, over the lanes of a warp: norm, weight, rotation. Kernels that make heads
// ready share it, and so a head has the same bits in all of them.
#pragma once

#include "kernels/cuda/device.cuh"

namespace paceline::kernels::cuda {

// Elements i * 32 + lane of both halves of a head; what is beyond the half is `otherwise`.
template <int kPairs>
struct HeadRow {
  float low[kPairs], high[kPairs];

  __device__ __forceinline__ void load(const float* low_from, const float* high_from, int32_t half, float otherwise) {
    const auto lane = static_cast<int32_t>(threadIdx.x % 32);
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
      const int32_t at = i * 32 + lane;
      low[i] = low_from != nullptr && at < half ? low_from[at] : otherwise;
      high[i] = high_from != nullptr && at < half ? high_from[at] : otherwise;
    }
  }
  __device__ __forceinline__ void load(const float* head, int32_t half, float otherwise) {
    load(head, head == nullptr ? nullptr : head + half, half, otherwise);
  }

  // The head over its root mean square, times a weight.
  __device__ __forceinline__ void norm(const HeadRow& weight, int32_t dim, float eps) {
    float squares = 0;
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
      squares = fmaf(low[i], low[i], squares);
      squares = fmaf(high[i], high[i], squares);
    }
    const float factor = rsqrtf(__fdiv_rn(warp_sum(squares), static_cast<float>(dim)) + eps);
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
      low[i] = low[i] * factor * weight.low[i];
      high[i] = high[i] * factor * weight.high[i];
    }
  }

  // `angle` has the cosines in its low half and the sines in its high one.
  __device__ __forceinline__ void turn(const HeadRow& angle) {
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
      const float a = low[i], b = high[i];
      low[i] = a * angle.low[i] - b * angle.high[i];
      high[i] = b * angle.low[i] + a * angle.high[i];
    }
  }

  // Calls write(at, value) for every element of the head.
  template <class Write>
  __device__ __forceinline__ void each(int32_t half, const Write& write) const {
    const auto lane = static_cast<int32_t>(threadIdx.x % 32);
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
      const int32_t at = i * 32 + lane;
      if (at >= half) continue;
      write(at, low[i]);
      write(at + half, high[i]);
    }
  }
};

}  // namespace paceline::kernels::cuda
