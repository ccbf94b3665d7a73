// The arithmetic of q8 and q4 products, the same for few rows and many: whole runs of 16, 32 or 64 columns in exact
// integers on the tensor cores, then, run after run in ascending order,
//   sum = fma(bias_w, scale_x * sum of x's integers, fma(scale_w, scale_x * integers, sum))
// without the outer one where codes are signed. GGUF's scales are exact in float32 (tensor/blocks.h). How weights,
// scales and rows lie is layout.h's.
#pragma once

#include <cuda_fp16.h>

#include "kernels/cuda/device.cuh"
#include "kernels/cuda/layout.h"

namespace paceline::kernels::cuda {

// Integers are added up from the bits of 1.5 * 2^23: read as a float, such a sum is that number plus the integer, as
// long as the integer is below 2^22 (64 * 255 * 127 is), and no conversion is needed.
inline constexpr int32_t kIntegerBits = 0x4b400000;
inline constexpr float kIntegerZero = 12582912.0f;

// d = c + a b, a 16x32 bytes, b 32x8 signed bytes, exact.
template <bool kSigned>
__device__ __forceinline__ void mma_bytes(int32_t (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1,
                                          const int32_t (&c)[4]) {
#define PACELINE_MMA(type)                                                                                      \
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32." type                                                    \
               ".s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"                              \
               : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])                                                 \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "r"(c[0]), "r"(c[1]), "r"(c[2]), \
                 "r"(c[3]))
  if constexpr (kSigned)
    PACELINE_MMA("s8");
  else
    PACELINE_MMA("u8");
#undef PACELINE_MMA
}

// The same of 16 columns.
template <bool kSigned>
__device__ __forceinline__ void mma_bytes(int32_t (&d)[4], const uint32_t (&a)[2], uint32_t b, const int32_t (&c)[4]) {
#define PACELINE_MMA(type)                                                                                           \
  asm volatile("mma.sync.aligned.m16n8k16.row.col.s32." type ".s8.s32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%7,%8,%9,%10};" \
               : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])                                                      \
               : "r"(a[0]), "r"(a[1]), "r"(b), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]))
  if constexpr (kSigned)
    PACELINE_MMA("s8");
  else
    PACELINE_MMA("u8");
#undef PACELINE_MMA
}

// 2^23 and a byte of a word, as a float.
inline constexpr float kByteZero = 8388608.0f;
__device__ __forceinline__ float byte_number(uint32_t word, int i) {
  return __uint_as_float(__byte_perm(word, 0x4b000000u, 0x7440u + static_cast<uint32_t>(i)));
}
__device__ __forceinline__ float low_half(uint32_t word) {
  return __half2float(__ushort_as_half(static_cast<unsigned short>(word & 0xffffu)));
}
__device__ __forceinline__ float high_half(uint32_t word) {
  return __half2float(__ushort_as_half(static_cast<unsigned short>(word >> 16)));
}

// A run's scale and bias of the lane's two outputs, g and g + 8.
struct RunScales {
  float scale[2], bias[2];
};

// A lane's share of one step of K, 128 columns of a tile.
template <Format kFormat, int kGroupColumns, Scales kScales>
struct QuantisedStep {
  static constexpr int kGroup = kGroupColumns;
  static constexpr bool kSigned = signed_codes(kScales);
  static constexpr int kLoads = kFormat == Format::q8 ? 4 : 2;
  static constexpr int kBytes = kLoads * 512;             // of a tile
  static constexpr int kRun = kGroup < 64 ? kGroup : 64;  // columns that are added up as integers
  static constexpr int kRuns = kStepK / kRun;
  static constexpr int kScaleBytes = step_scale_bytes(kGroup, kScales);  // of a tile
  static constexpr int kScaleWords = kScaleBytes / 4 / 8;
  static constexpr int kPairBytes = pair_step_bytes(kFormat, kGroup, kScales);
  static_assert(kPairBytes == 2 * (kBytes + kScaleBytes));

  uint4 values[kLoads];
  uint32_t scales[kScaleWords];

  // `stream`: the lane's 16 bytes of step 0; `scale_stream`: what lane / 4 has of it.
  __device__ __forceinline__ void load(const char* stream, const char* scale_stream, int32_t step) {
    const char* from = stream + static_cast<int64_t>(step) * kPairBytes;
#pragma unroll
    for (int i = 0; i < kLoads; ++i) values[i] = load_once(from + i * 512);
    const char* pairs = scale_stream + static_cast<int64_t>(step) * kPairBytes;
    take_scales([&](int i) { return load_pair(pairs + i * 4); }, [&](int i) { return load_four(pairs + i * 4); });
  }

  // The same from shared memory: what the lane and what lane / 4 has of the step. Loads come back in order: whoever has
  // multiplied with the values has the scales, too, and may give the place away.
  __device__ __forceinline__ void read(uint32_t values_at, uint32_t scales_at) {
    take_scales([&](int i) { return shared_pair(scales_at + i * 4); },
                [&](int i) { return shared_four(scales_at + i * 4); });
#pragma unroll
    for (int i = 0; i < kLoads; ++i) values[i] = shared_four(values_at + i * 512);
  }

  template <class Two, class Four>
  __device__ __forceinline__ void take_scales(const Two& two_words, const Four& four_words) {
    if constexpr (kScaleWords % 4 != 0) {
#pragma unroll
      for (int i = 0; i < kScaleWords; i += 2) {
        const float2 two = two_words(i);
        scales[i] = __float_as_uint(two.x);
        scales[i + 1] = __float_as_uint(two.y);
      }
    } else {
#pragma unroll
      for (int i = 0; i < kScaleWords; i += 4) {
        const uint4 four = four_words(i);
        scales[i] = four.x;
        scales[i + 1] = four.y;
        scales[i + 2] = four.z;
        scales[i + 3] = four.w;
      }
    }
  }

  // Four bits of each byte: the code, or 16 times a signed one.
  static __device__ __forceinline__ uint32_t lower(uint32_t word) {
    return kSigned ? word << 4 & 0xf0f0f0f0u : word & 0x0f0f0f0fu;
  }
  static __device__ __forceinline__ uint32_t upper(uint32_t word) {
    return kSigned ? word & 0xf0f0f0f0u : word >> 4 & 0x0f0f0f0fu;
  }

  // The fragment of columns i * 32 to i * 32 + 31: two words, then the second two.
  __device__ __forceinline__ void fragment(int i, uint32_t (&a)[4]) const {
    if constexpr (kFormat == Format::q8) {
      a[0] = values[i].x;
      a[1] = values[i].y;
      a[2] = values[i].z;
      a[3] = values[i].w;
    } else {
      const uint4& v = values[i / 2];
      const uint32_t g = i % 2 == 0 ? v.x : v.z, g8 = i % 2 == 0 ? v.y : v.w;
      a[0] = lower(g);
      a[1] = lower(g8);
      a[2] = upper(g);
      a[3] = upper(g8);
    }
  }

  __device__ __forceinline__ RunScales run_scales(int run) const {
    RunScales s;
#pragma unroll
    for (int high = 0; high < 2; ++high) {
      const int pair = run * kRun / kGroup * 2 + high;
      if constexpr (kScales == Scales::f32) {
        s.scale[high] = __uint_as_float(scales[pair * 2]);
        s.bias[high] = __uint_as_float(scales[pair * 2 + 1]);
      } else if constexpr (kScales == Scales::bf16) {
        s.scale[high] = __uint_as_float(scales[pair] << 16);
        s.bias[high] = __uint_as_float(scales[pair] & 0xffff0000u);
      } else if constexpr (kScales == Scales::centred) {
        const uint32_t two = scales[high * 2 + run / 2];
        s.scale[high] = (run % 2 == 0 ? low_half(two) : high_half(two)) * (kFormat == Format::q4 ? 0.0625f : 1.0f);
      } else if constexpr (kScales == Scales::products) {
        // factor * (zero + byte) - factor * zero: the last is exact, so that the sum is.
        const float factor = low_half(scales[high * 3]), least = high_half(scales[high * 3]);
        s.scale[high] = fmaf(byte_number(scales[high * 3 + 1], run), factor, -kByteZero * factor);
        s.bias[high] = fmaf(byte_number(scales[high * 3 + 2], run), -least, kByteZero * least);
      } else {
        s.scale[high] =
            (byte_number(scales[high * 3 + 1 + run / 4], run % 4) - (kByteZero + 128.0f)) * low_half(scales[high * 3]);
      }
    }
    return s;
  }
};

// What a run needs of two rows: {scale, scale * sum} of each.
struct RunRows {
  float scale[2], sum[2], zero[2];

  RunRows() = default;
  __device__ __forceinline__ RunRows(float scale0, float sum0, float scale1, float sum1)
      : scale{scale0, scale1}, sum{sum0, sum1}, zero{-kIntegerZero * scale0, -kIntegerZero * scale1} {}
};

// Adds a run to the sums of outputs g, g + 8 and two rows. scale * zero is exact (row_bytes.cuh), so that the first fma
// rounds scale * integer and nothing else.
template <bool kSigned>
__device__ __forceinline__ void settle(float (&sums)[4], const int32_t (&exact)[4], const RunScales& w,
                                       const RunRows& x) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float product = fmaf(__int_as_float(exact[i]), x.scale[i % 2], x.zero[i % 2]);
    sums[i] = fmaf(w.scale[i / 2], product, sums[i]);
    if constexpr (!kSigned) sums[i] = fmaf(w.bias[i / 2], x.sum[i % 2], sums[i]);
  }
}

// The same of one row alone, the first.
template <bool kSigned>
__device__ __forceinline__ void settle_one(float (&sums)[2], const int32_t (&exact)[4], const RunScales& w, float scale,
                                           float sum) {
  const float zero = -kIntegerZero * scale;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const float product = fmaf(__int_as_float(exact[i * 2]), scale, zero);
    sums[i] = fmaf(w.scale[i], product, sums[i]);
    if constexpr (!kSigned) sums[i] = fmaf(w.bias[i], sum, sums[i]);
  }
}

}  // namespace paceline::kernels::cuda
