// The arithmetic of one head of one row, over the lanes of a warp: norm, weight, rotation. Kernels that make heads
// ready share it, and so a head has the same bits in all of them.
#pragma once

#include "kernels/cuda/device.cuh"

namespace paceline::kernels::cuda {

// Where the numbers of a head lie for whoever turns it: place p of the low half and place p of the high one are turned
// together where p is below `turned`, and stay as they are otherwise.
struct HeadHalves {
  int32_t half;    // of the head's numbers
  int32_t turned;  // pairs; half: all of them

  __device__ __forceinline__ int32_t low_at(int32_t p) const { return p < turned ? p : p + turned; }
  __device__ __forceinline__ int32_t high_at(int32_t p) const { return (p < turned ? turned : half) + p; }
};

// Each lane's sum of zero times its numbers of a head, as it comes from memory. Zero in all lanes: all are finite, and so
// is what a norm makes of them.
__device__ __forceinline__ float times_nothing(const float* head, int32_t dim) {
  float nothing = 0;
  for (int32_t at = static_cast<int32_t>(threadIdx.x % 32) * 4; at < dim; at += 128) {
    const float4 v = *reinterpret_cast<const float4*>(head + at);
    nothing = fmaf(v.x, 0.0f, fmaf(v.y, 0.0f, fmaf(v.z, 0.0f, fmaf(v.w, 0.0f, nothing))));
  }
  return nothing;
}
// By whole warps.
__device__ __forceinline__ bool is_finite_head(float nothing) { return __all_sync(~0u, nothing == 0.0f) != 0; }

// Of both halves of a head four elements in a row at a time; what is beyond the half is `otherwise`. Halves, and what is
// turned of them, are multiples of four.
template <int kPairs>
struct HeadRow {
  static_assert(kPairs % 4 == 0);
  float low[kPairs], high[kPairs];

  static __device__ __forceinline__ int32_t in_a_row(int i) {
    return i / 4 * 128 + static_cast<int32_t>(threadIdx.x % 32) * 4;
  }

  template <class At>
  static __device__ __forceinline__ void load_half(const float* from, int32_t end, float otherwise, float (&to)[kPairs],
                                                   const At& at) {
#pragma unroll
    for (int i = 0; i < kPairs; i += 4) {
      float4 v = make_float4(otherwise, otherwise, otherwise, otherwise);
      if (from != nullptr && in_a_row(i) < end) v = *reinterpret_cast<const float4*>(from + at(in_a_row(i)));
      to[i] = v.x, to[i + 1] = v.y, to[i + 2] = v.z, to[i + 3] = v.w;
    }
  }
  __device__ __forceinline__ void load(const float* head, const HeadHalves& halves, float otherwise) {
    load_half(head, halves.half, otherwise, low, [&](int32_t p) { return halves.low_at(p); });
    load_half(head, halves.half, otherwise, high, [&](int32_t p) { return halves.high_at(p); });
  }
  // Cosines and sines of a row, [turned] each; no turn at all for what is not turned.
  __device__ __forceinline__ void load_angle(const float* cos, const float* sin, const HeadHalves& halves) {
    const auto as_it_is = [](int32_t p) { return p; };
    load_half(cos, halves.turned, 1.0f, low, as_it_is);
    load_half(sin, halves.turned, 0.0f, high, as_it_is);
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

  // Times a weight, [2 half], what is not among the first so many of each half.
  __device__ __forceinline__ void weigh_beyond(const float* weight, int32_t first, const HeadHalves& halves) {
    HeadRow by;
    by.load(weight, halves, 1.0f);
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
      if (in_a_row(i) + i % 4 < first) continue;
      low[i] *= by.low[i];
      high[i] *= by.high[i];
    }
  }

  // Whether all of the head's numbers are finite; by whole warps.
  [[nodiscard]] __device__ __forceinline__ bool is_finite() const {
    float nothing = 0;
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
      nothing = fmaf(low[i], 0.0f, nothing);
      nothing = fmaf(high[i], 0.0f, nothing);
    }
    return is_finite_head(nothing);
  }
  __device__ __forceinline__ void fill(float value) {
#pragma unroll
    for (int i = 0; i < kPairs; ++i) low[i] = high[i] = value;
  }
  // Whoever sees a token whose value is not finite has no number any more. Who does not, though it lies in the same
  // page, must not notice: a share of zero times what is no number would be none. So its value is zeros, and its key
  // says what it was.
  __device__ __forceinline__ void fail_value() {
    if (!is_finite()) fill(0.0f);
  }
  __device__ __forceinline__ void fail_key(bool has_value) {
    if (!has_value) fill(__uint_as_float(0x7fffffffu));
  }

  // Calls write(at, four) for every four elements of the head, where they are in a row.
  template <class Write>
  __device__ __forceinline__ void each_four(const HeadHalves& halves, const Write& write) const {
#pragma unroll
    for (int i = 0; i < kPairs; i += 4) {
      if (in_a_row(i) >= halves.half) continue;
      write(halves.low_at(in_a_row(i)), make_float4(low[i], low[i + 1], low[i + 2], low[i + 3]));
      write(halves.high_at(in_a_row(i)), make_float4(high[i], high[i + 1], high[i + 2], high[i + 3]));
    }
  }
};

}  // namespace paceline::kernels::cuda
