// Rows of quantised products in shared memory, and what few of them are multiplied with.
#pragma once

#include "kernels/cuda/matmul.h"
#include "kernels/cuda/quantised.cuh"

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

// Columns [first_col, first_col + columns) of `count` rows; row_number: which row of x row r is.
template <int kRun, int kThreads, class RowNumber>
__device__ __forceinline__ void stage_bytes(const Rows& x, const StagedRows& to, int32_t count, int32_t first_col,
                                            int32_t columns, const RowNumber& row_number) {
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
  wait_copies<0>();
}

// One step of 128 columns for 8 rows: acc += W x. `bytes`: the lane's 16 of the step, of row g; `scales`: of rows 2t
// and 2t + 1.
template <class Step>
__device__ __forceinline__ void multiply_step(float (&acc)[4], const Step& step, const char* bytes, const char* scales0,
                                              const char* scales1) {
  const int32_t zero[4] = {kIntegerBits, kIntegerBits, kIntegerBits, kIntegerBits};
  const auto rows_of = [&](int run) {
    const float2 x0 = *reinterpret_cast<const float2*>(scales0 + run * 8);
    const float2 x1 = *reinterpret_cast<const float2*>(scales1 + run * 8);
    return RunRows(x0.x, x0.y, x1.x, x1.y);
  };
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const uint4 b = *reinterpret_cast<const uint4*>(bytes + half * 64);
    uint32_t a[2][4];
    step.fragment(half * 2, a[0]);
    step.fragment(half * 2 + 1, a[1]);
    int32_t first[4], exact[4];
    mma_bytes(first, a[0], b.x, b.y, zero);
    if constexpr (Step::kRun == 64) {
      mma_bytes(exact, a[1], b.z, b.w, first);
      settle(acc, exact, step.run_scales(half), rows_of(half));
    } else {
      mma_bytes(exact, a[1], b.z, b.w, zero);
      settle(acc, first, step.run_scales(half * 2), rows_of(half * 2));
      settle(acc, exact, step.run_scales(half * 2 + 1), rows_of(half * 2 + 1));
    }
  }
}

}  // namespace paceline::kernels::cuda
