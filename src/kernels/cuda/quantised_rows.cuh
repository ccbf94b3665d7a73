// Rows of quantised products in shared memory, and what few of them are multiplied with.
#pragma once

#include "kernels/cuda/bulk_copy.cuh"
#include "kernels/cuda/matmul.h"
#include "kernels/cuda/quantised.cuh"
#include "kernels/cuda/row_bytes.cuh"

namespace paceline::kernels::cuda {

// Bytes of all rows, then {scale, scale * sum} of each run of all rows. Rows begin so that the 16 bytes that lanes take
// of two neighbours fill the banks.
struct StagedRows {
  char* bytes;
  char* scales;
  int32_t rows, stride, scale_stride;

  PACELINE_BOTH static constexpr int32_t stride_of(int32_t columns) { return columns + 64; }
  PACELINE_BOTH static constexpr int32_t scale_stride_of(int32_t columns, int32_t run) {
    return columns / run * 8 + 16;
  }
  PACELINE_BOTH static constexpr int32_t bytes_for(int32_t rows, int32_t columns, int32_t run) {
    return rows * (stride_of(columns) + scale_stride_of(columns, run));
  }
  __device__ StagedRows(char* shared, int32_t room, int32_t columns, int32_t run)
      : bytes(shared),
        scales(shared + room * stride_of(columns)),
        rows(room),
        stride(stride_of(columns)),
        scale_stride(scale_stride_of(columns, run)) {}
  // A row that there is no room for is read from the last one's place: the tensor cores' columns do not mix, and its
  // sums are never written out.
  __device__ const char* bytes_of(int32_t row) const { return bytes + min(row, rows - 1) * stride; }
  __device__ const char* scales_of(int32_t row) const { return scales + min(row, rows - 1) * scale_stride; }
};

// Columns [first_col, first_col + columns) of `count` rows are on their way; row_number: which row of x row r is.
template <int kRun, int kThreads, class RowNumber>
__device__ __forceinline__ void stage_bytes(const Rows& x, const StagedRows& to, int32_t count, int32_t first_col,
                                            int32_t columns, const RowNumber& row_number, uint32_t barrier) {
#if __CUDA_ARCH__ >= 900
  const int32_t r = row_to_copy(), scales_bytes = columns / kRun * 8;
  if (r == 0) expect_bytes(barrier, count * (columns + scales_bytes));
  if (r < 0 || r >= count) return;
  const int64_t row = row_number(r);
  copy_bulk(shared_address(to.bytes) + r * to.stride, static_cast<const char*>(x.values) + row * x.stride + first_col,
            columns, barrier);
  copy_bulk(shared_address(to.scales) + r * to.scale_stride,
            reinterpret_cast<const char*>(x.scales) + (row * (x.stride / kRun) + first_col / kRun) * 8, scales_bytes,
            barrier);
#else
  const int32_t chunks = columns / 16, scale_chunks = columns / kRun / 2, row_runs = x.stride / kRun;
  for (int32_t r = 0; r < count; ++r) {
    const int64_t row = row_number(r);
    const char* bytes = static_cast<const char*>(x.values) + row * x.stride + first_col;
    const char* scales = reinterpret_cast<const char*>(x.scales) + (row * row_runs + first_col / kRun) * 8;
    const uint32_t bytes_to = shared_address(to.bytes) + r * to.stride;
    const uint32_t scales_to = shared_address(to.scales) + r * to.scale_stride;
#pragma unroll 2
    for (int32_t c = static_cast<int32_t>(threadIdx.x); c < chunks; c += kThreads)
      copy16_async(bytes_to + c * 16, bytes + c * 16, true);
    for (int32_t c = static_cast<int32_t>(threadIdx.x); c < scale_chunks; c += kThreads)
      copy16_async(scales_to + c * 16, scales + c * 16, true);
  }
  commit_copies();
#endif
}

// The same of rows that are still float32 [rows, cols]: a warp makes bytes of 128 columns at a time, a lane of four.
template <int kGroup, int kThreads, class RowNumber>
__device__ __forceinline__ void stage_floats(const Rows& x, int32_t cols, const StagedRows& to, int32_t count,
                                             int32_t first_col, int32_t columns, const RowNumber& row_number) {
  constexpr int kRun = kGroup < 64 ? kGroup : 64;
  const int32_t lane = static_cast<int32_t>(threadIdx.x % 32), at = lane * 4;
  for (int32_t r = 0; r < count; ++r) {
    const float* row = static_cast<const float*>(x.values) + static_cast<int64_t>(row_number(r)) * cols;
#pragma unroll 4
    for (int32_t begin = static_cast<int32_t>(threadIdx.x / 32) * kStepK; begin < columns;
         begin += kThreads / 32 * kStepK) {
      const int32_t col = first_col + begin + at;
      const float4 v = col < cols ? *reinterpret_cast<const float4*>(row + col) : make_float4(0, 0, 0, 0);
      const FourBytes four(v, kGroup);
      *reinterpret_cast<uint32_t*>(to.bytes + r * to.stride + byte_place(kGroup, begin + at)) = four.bytes;
      if (at % kRun == 0)
        *reinterpret_cast<float2*>(to.scales + r * to.scale_stride + (begin + at) / kRun * 8) = four.pair;
    }
  }
}

// One step of 128 columns of several tiles for 8 rows: acc += W x. `bytes`: the lane's 16 of the step, of row g;
// `scales`: of rows 2t and 2t + 1.
template <class Step, int kTiles>
__device__ __forceinline__ void multiply_step(float (&acc)[kTiles][4], const Step (&step)[kTiles], const char* bytes,
                                              const char* scales0, const char* scales1) {
  constexpr int kRun = Step::kRun;
  constexpr bool kSigned = Step::kSigned;
  const int32_t zero[4] = {kIntegerBits, kIntegerBits, kIntegerBits, kIntegerBits};
  // Two runs at a time.
  const auto rows_of = [&](int pair, RunRows* to) {
    const float4 x0 = *reinterpret_cast<const float4*>(scales0 + pair * 16);
    const float4 x1 = *reinterpret_cast<const float4*>(scales1 + pair * 16);
    to[0] = RunRows(x0.x, x0.y, x1.x, x1.y);
    to[1] = RunRows(x0.z, x0.w, x1.z, x1.w);
  };
  RunRows rows[kRun == 16 ? 4 : 2];
  if constexpr (kRun == 64) rows_of(0, rows);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const uint4 b = *reinterpret_cast<const uint4*>(bytes + half * 64);
    if constexpr (kRun == 32) rows_of(half, rows);
    if constexpr (kRun == 16) {
      rows_of(half * 2, rows);
      rows_of(half * 2 + 1, rows + 2);
    }
#pragma unroll
    for (int m = 0; m < kTiles; ++m) {
      uint32_t a[2][4];
      step[m].fragment(half * 2, a[0]);
      step[m].fragment(half * 2 + 1, a[1]);
      int32_t first[4], exact[4];
      if constexpr (kRun == 16) {
        const uint32_t four[4] = {b.x, b.y, b.z, b.w};
#pragma unroll
        for (int r = 0; r < 4; ++r) {
          const uint32_t two[2] = {a[r / 2][r % 2 * 2], a[r / 2][r % 2 * 2 + 1]};
          mma_bytes<kSigned>(exact, two, four[r], zero);
          settle<kSigned>(acc[m], exact, step[m].run_scales(half * 4 + r), rows[r]);
        }
        continue;
      }
      mma_bytes<kSigned>(first, a[0], b.x, b.y, zero);
      if constexpr (kRun == 64) {
        mma_bytes<kSigned>(exact, a[1], b.z, b.w, first);
        settle<kSigned>(acc[m], exact, step[m].run_scales(half), rows[half]);
      } else if constexpr (kRun == 32) {
        mma_bytes<kSigned>(exact, a[1], b.z, b.w, zero);
        settle<kSigned>(acc[m], first, step[m].run_scales(half * 2), rows[0]);
        settle<kSigned>(acc[m], exact, step[m].run_scales(half * 2 + 1), rows[1]);
      }
    }
  }
}

// The same for one row: of the tensor cores' eight columns only the first one counts. Rows' bytes are read by the lanes
// that have it, and the sums are those of lanes 0, 4, ... `kept`: the lane's bytes; what others have in it does not
// matter.
struct OneRow {
  uint4 kept[2] = {};

  __device__ __forceinline__ void read(const char* bytes) {
#pragma unroll
    for (int half = 0; half < 2; ++half)
      if (threadIdx.x % 32 < 4) kept[half] = *reinterpret_cast<const uint4*>(bytes + half * 64);
  }
};

// Four runs of 16 columns, half a step.
template <class Step, int kTiles>
__device__ __forceinline__ void multiply_one_row_by_16(float (&acc)[kTiles][2], const Step (&step)[kTiles], int half,
                                                       const uint4& bytes, const char* scales) {
  const int32_t zero[4] = {kIntegerBits, kIntegerBits, kIntegerBits, kIntegerBits};
  const uint32_t b[4] = {bytes.x, bytes.y, bytes.z, bytes.w};
#pragma unroll
  for (int r = 0; r < 4; ++r) {
    const float2 x = *reinterpret_cast<const float2*>(scales + (half * 4 + r) * 8);
    int32_t exact[kTiles][4];
#pragma unroll
    for (int m = 0; m < kTiles; ++m) {
      uint32_t a[4];
      step[m].fragment(half * 2 + r / 2, a);
      const uint32_t two[2] = {a[r % 2 * 2], a[r % 2 * 2 + 1]};
      mma_bytes<Step::kSigned>(exact[m], two, b[r], zero);
    }
#pragma unroll
    for (int m = 0; m < kTiles; ++m)
      settle_one<Step::kSigned>(acc[m], exact[m], step[m].run_scales(half * 4 + r), x.x, x.y);
  }
}

template <class Step, int kTiles>
__device__ __forceinline__ void multiply_one_row(float (&acc)[kTiles][2], const Step (&step)[kTiles], OneRow& row,
                                                 const char* bytes, const char* scales) {
  constexpr bool kSigned = Step::kSigned;
  int32_t zero[4] = {kIntegerBits, kIntegerBits, kIntegerBits, kIntegerBits};
  row.read(bytes);
  if constexpr (Step::kRun == 16) {
    multiply_one_row_by_16(acc, step, 0, row.kept[0], scales);
    multiply_one_row_by_16(acc, step, 1, row.kept[1], scales);
    return;
  }
  float4 pair = *reinterpret_cast<const float4*>(scales);  // of two runs
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const uint4& b = row.kept[half];
    int32_t first[kTiles][4], second[kTiles][4];
    uint32_t a[4];
#pragma unroll
    for (int m = 0; m < kTiles; ++m) {
      step[m].fragment(half * 2, a);
      mma_bytes<kSigned>(first[m], a, b.x, b.y, zero);
    }
#pragma unroll
    for (int m = 0; m < kTiles; ++m) {
      step[m].fragment(half * 2 + 1, a);
      mma_bytes<kSigned>(second[m], a, b.z, b.w, Step::kRun == 64 ? first[m] : zero);
    }
    if constexpr (Step::kRun == 64) {
#pragma unroll
      for (int m = 0; m < kTiles; ++m)
        settle_one<kSigned>(acc[m], second[m], step[m].run_scales(half), half == 0 ? pair.x : pair.z,
                            half == 0 ? pair.y : pair.w);
    } else {
      if (half == 1) pair = *reinterpret_cast<const float4*>(scales + 16);
#pragma unroll
      for (int m = 0; m < kTiles; ++m) {
        settle_one<kSigned>(acc[m], first[m], step[m].run_scales(half * 2), pair.x, pair.y);
        settle_one<kSigned>(acc[m], second[m], step[m].run_scales(half * 2 + 1), pair.z, pair.w);
      }
    }
  }
}

}  // namespace paceline::kernels::cuda
