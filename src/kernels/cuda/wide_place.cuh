// Which matrix, outputs and rows a block of a wide kernel has, and how its sums become outputs.
#pragma once

#include "kernels/cuda/device.cuh"
#include "kernels/cuda/matmul.h"

namespace paceline::kernels::cuda {

struct WidePlace {
  const Product* product = nullptr;
  int32_t unit = 0;
  int32_t expert = 0, first_slot = 0;
  int32_t row_base = 0, rows = 0;

  // Which `block_rows` rows, of which expert, and which unit of which product. False: nothing.
  __device__ bool find(const MatmulArgs& args, int32_t block_rows, int32_t row_block, int32_t output_block) {
    int32_t p = 0;
    while (p + 1 < args.count && output_block >= args.out[p + 1].first_block) ++p;
    product = &args.out[p];
    unit = output_block - product->first_block;
    if (args.experts.plan != nullptr) return find_expert(*args.experts.plan, block_rows, row_block);
    row_base = row_block * block_rows;
    expert = 0;
    first_slot = 0;
    rows = args.rows;
    return true;
  }
  __device__ bool find(const MatmulArgs& args, int32_t block_rows) {
    return find(args, block_rows, static_cast<int32_t>(blockIdx.x), static_cast<int32_t>(blockIdx.y));
  }

  // Experts have as many blocks as their rows fill. Every warp counts them, eight experts a lane.
  __device__ bool find_expert(const ExpertPlan& plan, int32_t block_rows, int32_t row_block) {
    constexpr int kEach = kMaxExperts / 32;
    const int lane = threadIdx.x % 32;
    const int32_t touched = plan.touched;
    int32_t blocks[kEach];
    int32_t here = 0, up_to = 0;
    int32_t first = plan.first[min(lane * kEach, touched)];
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int32_t next = plan.first[min(lane * kEach + i + 1, touched)];
      blocks[i] = ceil_div(next - first, block_rows);
      here += blocks[i];
      first = next;
    }
    up_to = here;
    for (int offset = 1; offset < 32; offset *= 2) {
      const int32_t below = __shfl_up_sync(~0u, up_to, offset);
      if (lane >= offset) up_to += below;
    }
    int32_t left = row_block - (up_to - here);  // blocks of this lane's experts in front
    const uint32_t mine = __ballot_sync(~0u, left >= 0 && left < here);
    if (mine == 0) return false;
    int32_t at = lane * kEach;
    bool found = false;
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      if (!found && left >= blocks[i]) {
        left -= blocks[i];
        ++at;
      } else {
        found = true;
      }
    }
    const int owner = __ffs(static_cast<int>(mine)) - 1;
    at = __shfl_sync(~0u, at, owner);
    row_base = __shfl_sync(~0u, left, owner) * block_rows;
    expert = plan.expert[at];
    first_slot = plan.first[at];
    rows = plan.first[at + 1] - first_slot;
    return true;
  }

  // The row of x that the place's row is; -1: there is none.
  __device__ int32_t row_number(const MatmulArgs& args, int32_t row) const {
    if (row >= rows) return -1;
    if (args.experts.plan == nullptr) return row;
    return args.experts.slot_row != nullptr ? args.experts.slot_row[first_slot + row] : first_slot + row;
  }
};

// Sums in shared memory, [kRows][kStride], become the block's outputs, kWidth of them. kUp > 0: so far behind each sum
// is that of `up`. Four outputs a thread: one by one, this took a third of a product's time.
template <int kThreads, int kRows, int kWidth, int kStride, int kUp>
__device__ __forceinline__ void write_rows(const WidePlace& at, const float* sums) {
  const Product& p = *at.product;
  const int32_t n = p.weight.rows;
#pragma unroll 4
  for (int32_t i = static_cast<int32_t>(threadIdx.x); i < kRows * (kWidth / 4); i += kThreads) {
    const int32_t r = i / (kWidth / 4), o = i % (kWidth / 4) * 4, output = at.unit * kWidth + o;
    if (at.row_base + r >= at.rows || output >= n) continue;
    const float4 four = *reinterpret_cast<const float4*>(sums + r * kStride + o);
    float value[4] = {four.x, four.y, four.z, four.w};
    if constexpr (kUp > 0) {
      const float4 up = *reinterpret_cast<const float4*>(sums + r * kStride + kUp + o);
      value[0] = gate(p.silu, value[0]) * up.x;
      value[1] = gate(p.silu, value[1]) * up.y;
      value[2] = gate(p.silu, value[2]) * up.z;
      value[3] = gate(p.silu, value[3]) * up.w;
    }
    const int64_t row = at.first_slot + at.row_base + r;
    if (p.times != nullptr) {
      const float* times = p.times + row * p.times_stride + output;
#pragma unroll
      for (int e = 0; e < 4; ++e)
        if (output + e < n) value[e] = gate(p.silu, value[e]) * times[e];
    }
    if (n % 4 == 0) {
      if (p.y != nullptr)
        *reinterpret_cast<float4*>(p.y + row * n + output) = make_float4(value[0], value[1], value[2], value[3]);
      if (p.y_bf16 != nullptr)
        *reinterpret_cast<uint2*>(p.y_bf16 + row * p.y_stride + output) =
            make_uint2(pack_bf16(value[0], value[1]), pack_bf16(value[2], value[3]));
      continue;
    }
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      if (output + e >= n) continue;
      if (p.y != nullptr) p.y[row * n + output + e] = value[e];
      if (p.y_bf16 != nullptr)
        reinterpret_cast<__nv_bfloat16*>(p.y_bf16)[row * p.y_stride + output + e] = __float2bfloat16_rn(value[e]);
    }
  }
}

// Gives every product its blocks of so many outputs (gated: half of gate, half of up).
inline void lay_out(MatmulArgs& args, int32_t block_outputs) {
  args.blocks = 0;
  for (int32_t i = 0; i < args.count; ++i) {
    Product& p = args.out[i];
    p.first_block = args.blocks;
    p.units = ceil_div(p.weight.rows, p.gated() ? block_outputs / 2 : block_outputs);
    args.blocks += p.units;
  }
}
// The most blocks of so many rows that there can be: every expert may have one that is not full.
inline int32_t row_blocks(const MatmulArgs& args, int32_t block_rows) {
  if (args.experts.plan == nullptr) return ceil_div(args.rows, block_rows);
  return args.experts.most_touched + args.experts.slots / block_rows;
}

}  // namespace paceline::kernels::cuda
