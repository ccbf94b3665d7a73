// What the narrow kernels of all formats share: where a block stands, its rows in shared memory, and how sums of parts
// become outputs.
//
//   y [rows, n] = W [n, k] x [rows, k]
// A block of four warps owns a unit of 64 outputs (gated: 32 of gate and the same 32 of up) and one part of K, or all
// parts in turn. Each warp streams its tile of 16 outputs; the rows' part of K lies in shared memory. The sums of parts
// are added in ascending order by one of the blocks of the unit, or in registers where one block has them all.
#pragma once

#include "kernels/cuda/bulk_copy.cuh"
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/handover.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/matmul.h"
#include "kernels/cuda/row_bytes.cuh"

namespace paceline::kernels::cuda::narrow {

constexpr int kThreads = 128;
// Sums of a unit's row in shared memory lie so far apart.
PACELINE_BOTH constexpr int32_t padded_outputs(int32_t outputs) { return outputs + 4; }
constexpr int kOutPad = padded_outputs(kUnitOutputs);
constexpr int32_t kLongPart = 12;  // blocks

// Whether four neighbours of all rows that a product writes and reads behind its sums lie so that they are one access.
inline bool in_fours(const Product& p) {
  const auto fits = [](const void* at) { return reinterpret_cast<uintptr_t>(at) % 16 == 0; };
  return p.weight.rows % 4 == 0 && p.y_stride % 8 == 0 && p.times_stride % 4 == 0 && fits(p.y) && fits(p.left) &&
         fits(p.y_bf16) && fits(p.times);
}

// Matrices of a product that a launch may read: of a stack as many as can be touched.
inline int32_t matrices_of(const MatmulArgs& args, const Product& p) {
  return args.experts.plan != nullptr && !p.dense ? args.experts.most_touched : 1;
}

// Gives units and their parts to blocks, a unit being so many outputs. Parts go to blocks of their own, unless there
// are `plenty` of blocks without that, or more than there is room for what they leave each other.
inline void lay_out(MatmulArgs& args, int32_t outputs, int32_t plenty, int32_t group_rows) {
  const auto give = [&](bool splits) {
    args.blocks = 0;
    for (int32_t i = 0; i < args.count; ++i) {
      Product& p = args.out[i];
      p.first_block = args.blocks;
      p.units = ceil_div(p.weight.rows, p.gated() ? outputs / 2 : outputs);
      const int32_t matrices = matrices_of(args, p);
      p.split = splits && p.units * matrices < plenty ? p.weight.parts() : 1;
      p.fours = in_fours(p) ? 1 : 0;
      args.blocks += p.units * matrices * p.split;
    }
  };
  give(true);
  const int64_t floats = int64_t{ceil_div(args.rows, group_rows)} * group_rows * outputs;
  if (args.blocks * floats > static_cast<int64_t>(kCountedFloats)) give(false);
}

// Where a block stands.
struct Unit {
  const Product* product;
  const Rows* x;
  int32_t unit, part, parts_here;
  int32_t expert;      // -1: none
  int32_t first_slot;  // expert's
  int32_t row_base, rows;
};

__device__ inline bool find_unit(const MatmulArgs& args, int32_t group_rows, Unit& u) {
  int32_t p = 0;
  while (p + 1 < args.count && static_cast<int32_t>(blockIdx.x) >= args.out[p + 1].first_block) ++p;
  const Product& product = args.out[p];
  const int32_t parts = product.weight.parts();
  int32_t local = static_cast<int32_t>(blockIdx.x) - product.first_block;
  u.product = &product;
  u.x = product.dense ? &product.x : &args.x;
  // The first part comes last: it is never the short one, and whoever adds up waits for nobody behind it.
  u.part = product.split > 1 ? parts - 1 - local % parts : 0;
  u.parts_here = product.split > 1 ? 1 : parts;
  local /= product.split;
  u.unit = local % product.units;
  u.expert = -1;
  u.first_slot = 0;
  u.rows = args.rows;
  u.row_base = static_cast<int32_t>(blockIdx.y) * group_rows;
  return true;
}

// Which experts are touched is known only when the kernel in front of this one has ended.
__device__ inline bool find_expert(const MatmulArgs& args, Unit& u) {
  const ExpertPlan& plan = *args.experts.plan;
  const int32_t local = (static_cast<int32_t>(blockIdx.x) - u.product->first_block) / u.product->split;
  const int32_t at = local / u.product->units;
  if (at >= plan.touched) return false;
  u.expert = plan.expert[at];
  u.first_slot = plan.first[at];
  u.rows = plan.first[at + 1] - u.first_slot;
  return true;
}

// The row of x that the unit's row is.
__device__ __forceinline__ int32_t row_number(const MatmulArgs& args, const Unit& u, int32_t row) {
  if (u.expert < 0) return row;
  return args.experts.slot_row ? args.experts.slot_row[u.first_slot + row] : u.first_slot + row;
}
__device__ __forceinline__ const char* row_of(const MatmulArgs& args, const Unit& u, int32_t row, int32_t row_bytes) {
  return static_cast<const char*>(u.x->values) + static_cast<int64_t>(row_number(args, u, row)) * row_bytes;
}

// Copies columns [begin, begin + bytes) of so many of the unit's rows, if any, behind each other. All copies are on
// their way at once.
__device__ __forceinline__ void stage_rows(const MatmulArgs& args, const Unit& u, int32_t rows, int32_t begin,
                                           int32_t bytes, uint32_t shared, int32_t stride, uint32_t barrier) {
#if __CUDA_ARCH__ >= 900
  const int32_t r = row_to_copy();
  if (rows > 0 && r == 0) expect_bytes(barrier, rows * bytes);
  if (r >= 0 && r < rows)
    copy_bulk(shared + r * stride, row_of(args, u, u.row_base + r, u.x->stride * 2) + begin, bytes, barrier);
#else
  const int32_t chunks = bytes / 16;
  for (int32_t r = 0; r < rows; ++r) {
    const char* from = row_of(args, u, u.row_base + r, u.x->stride * 2) + begin;
#pragma unroll 2
    for (int32_t c = static_cast<int32_t>(threadIdx.x); c < chunks; c += kThreads)
      copy16_async(shared + r * stride + c * 16, from + c * 16, true);
  }
  commit_copies();
#endif
}

// The warp's tile of a unit of such chunks: where it starts, if there is one.
struct Tile {
  const char* values;
  bool present;
};

__device__ inline Tile find_tile(const Unit& u, int warp, int32_t chunk) {
  const bool gated = u.product->gated();
  const Weight& w = gated && warp >= 2 ? u.product->up : u.product->weight;
  const int32_t tile = gated ? u.unit * 2 + warp % 2 : u.unit * 4 + warp;
  Tile t;
  t.present = tile < w.tiles();
  const int64_t expert = u.expert >= 0 ? u.expert : 0, per_tile = int64_t{w.depth() / kBlockK} * chunk;
  t.values = static_cast<const char*>(w.values) + expert * w.stride + (t.present ? tile * per_tile : 0);
  return t;
}

// For one output and for four neighbours, which have to lie where four are one access.
__device__ __forceinline__ float gate_times(int32_t silu, float v, float by) { return gate(silu, v) * by; }
__device__ __forceinline__ float4 gate_times(int32_t silu, const float4& v, const float4& by) {
  return make_float4(gate(silu, v.x) * by.x, gate(silu, v.y) * by.y, gate(silu, v.z) * by.z, gate(silu, v.w) * by.w);
}
__device__ __forceinline__ void store_bf16(uint16_t* to, float v) {
  *reinterpret_cast<__nv_bfloat16*>(to) = __float2bfloat16_rn(v);
}
__device__ __forceinline__ void store_bf16(uint16_t* to, const float4& v) {
  *reinterpret_cast<uint2*>(to) = make_uint2(pack_bf16(v.x, v.y), pack_bf16(v.z, v.w));
}

// Outputs from this one on, times their factors.
__device__ __forceinline__ float times_factors(const double* factors, float v) {
  return static_cast<float>(static_cast<double>(v) * factors[0]);
}
__device__ __forceinline__ float4 times_factors(const double* factors, const float4& v) {
  return make_float4(times_factors(factors, v.x), times_factors(factors + 1, v.y), times_factors(factors + 2, v.z),
                     times_factors(factors + 3, v.w));
}
template <class Values>
__device__ __forceinline__ Values with_factors(const Weight& w, const Unit& u, int32_t output, const Values& v) {
  if (w.factors == nullptr) return v;
  return times_factors(w.factors + static_cast<int64_t>(max(u.expert, 0)) * w.rows + output, v);
}

// What comes from the unit's sums of a row, from this output on, where there is such a one; `up` where it is gated.
template <class Values>
__device__ __forceinline__ void write_output(const Unit& u, int32_t r, int32_t output, const float* sums,
                                             const float* up) {
  const Product& p = *u.product;
  if (output >= p.weight.rows) return;
  const auto values_at = [](const float* at) { return *reinterpret_cast<const Values*>(at); };
  Values v = with_factors(p.weight, u, output, values_at(sums));
  if (p.gated()) v = gate_times(p.silu, v, with_factors(p.up, u, output, values_at(up)));
  const int64_t row = u.first_slot + u.row_base + r, at = row * p.weight.rows + output;
  if (p.times != nullptr) v = gate_times(p.silu, v, values_at(p.times + row * p.times_stride + output));
  // First: somebody waits for it.
  if (p.left != nullptr) leave(p.left + at, v);
  if (p.y != nullptr) *reinterpret_cast<Values*>(p.y + at) = v;
  if (p.y_bf16 != nullptr) store_bf16(p.y_bf16 + row * p.y_stride + output, v);
}

// A unit's row as bytes, a warp each.
template <int kRows, int kOutputs>
__device__ void write_byte_outputs(const Unit& u, const float* sums) {
  constexpr int kWidth = kOutputs / 2;
  static_assert(kWidth <= 64);
  const ByteRows& to = u.product->y_bytes;
  const int lane = threadIdx.x % 32;
  // From the last warp on: the first ones write a single row's floats.
  for (int32_t r = kThreads / 32 - 1 - threadIdx.x / 32; r < min(kRows, u.rows - u.row_base); r += kThreads / 32) {
    const float* at = sums + r * padded_outputs(kOutputs) + lane;
    const int64_t row = u.first_slot + u.row_base + r;
    const int32_t first = u.unit * kWidth;
    if (first >= u.product->weight.rows) continue;
    float values[kWidth / 32];
    uint32_t top[kWidth / 32];
#pragma unroll
    for (int i = 0; i < kWidth / 32; ++i) {
      values[i] = gate(u.product->silu, at[i * 32]) * at[i * 32 + kWidth];
      top[i] = to.group == 16 ? half_warp_top(magnitude(values[i])) : warp_top(magnitude(values[i]));
    }
    if constexpr (kWidth == 64)
      if (to.group == 64) top[0] = top[1] = max(top[0], top[1]);
    int32_t sum = 0;
#pragma unroll
    for (int i = 0; i < kWidth / 32; ++i) {
      const ByteScale scale(top[i]);
      const int32_t byte = scale.byte(values[i]);
      put_byte(to, row, first + i * 32 + lane, byte);
      if (to.group == 16) {
        const int32_t half_sum = half_warp_sum(byte);
        if (lane % 16 == 0) put_pair(to, row, first + i * 32 + lane, scale.pair(half_sum));
        continue;
      }
      sum += __reduce_add_sync(~0u, byte);
      if ((i * 32 + 32) % to.group != 0) continue;
      if (lane == 0) put_pair(to, row, first + i * 32, scale.pair(sum));
      sum = 0;
    }
  }
}

// One unit's sums in shared memory [rows][padded_outputs] become outputs.
template <int kRows, int kOutputs>
__device__ void write_outputs(const Unit& u, const float* sums) {
  const int32_t width = u.product->gated() ? kOutputs / 2 : kOutputs;
  const int32_t outputs = min(kRows, u.rows - u.row_base) * width;
  const int32_t up = u.product->gated() ? kOutputs / 2 : 0;
  const auto place = [&](int32_t i) { return sums + i / width * padded_outputs(kOutputs) + i % width; };
  const auto write = [&]<class Values>(int32_t i, Values) {
    write_output<Values>(u, i / width, u.unit * width + i % width, place(i), place(i) + up);
  };
  const auto thread = static_cast<int32_t>(threadIdx.x);
  if (u.product->fours && outputs > kThreads)
    for (int32_t i = thread * 4; i < outputs; i += kThreads * 4) write(i, float4{});
  else
    for (int32_t i = thread; i < outputs; i += kThreads) write(i, 0.0f);
  if constexpr (kOutputs == kQuantisedUnitOutputs)
    if (u.product->y_bytes.values != nullptr) write_byte_outputs<kRows, kOutputs>(u, sums);
}

// Where the sums of a unit meet, and four of this block's own.
template <int kRows, int kOutputs>
struct Meeting {
  static constexpr int32_t kFloats = kRows * kOutputs;
  static constexpr int kAtOnce = 12;  // parts that are asked for together, not a trip to the cache each
  int64_t block;
  int32_t floats, split;
  float* sums;

  __device__ Meeting(const Unit& u, float* own)
      : block(static_cast<int64_t>(blockIdx.y) * gridDim.x + blockIdx.x),
        floats(min(kRows, u.rows - u.row_base) * kOutputs),
        split(u.product->split),
        sums(own) {}
  __device__ float4& four(int32_t i) const {
    return *reinterpret_cast<float4*>(sums + i / kOutputs * padded_outputs(kOutputs) + i % kOutputs);
  }
};

__device__ __forceinline__ void add_to(float4& sum, const float4& v) {
  sum.x += v.x;
  sum.y += v.y;
  sum.z += v.z;
  sum.w += v.w;
}

// Long parts: each is left for the block of the first part, which adds them all up. Little code: it runs once.
template <int kRows, int kOutputs>
__device__ void hand_over_parts(const MatmulArgs& args, const Unit& u, const Meeting<kRows, kOutputs>& m) {
  constexpr int32_t kFloats = m.kFloats, kAtOnce = m.kAtOnce;
  const int32_t thread = static_cast<int32_t>(threadIdx.x) * 4;
  float* const own = args.partial + m.block * kFloats;  // other parts' lie in front of the first one's
  if (u.part > 0) {
    for (int32_t i = thread; i < m.floats; i += kThreads * 4) leave(own + i, m.four(i));
    return;
  }
#pragma unroll 1
  for (int32_t i = thread; i < m.floats; i += kThreads * 4) {
    float4 sum = m.four(i);
#pragma unroll 1
    for (int32_t first = 1; first < m.split; first += kAtOnce) {
      float* const from = own + i - first * kFloats;
      const int32_t count = m.split - first;
      float4 part[kAtOnce];
      Patience patience;
      for (bool there = false; !there;) {
        there = true;
#pragma unroll
        for (int n = 0; n < kAtOnce; ++n)
          if (n < count) part[n] = look(from - n * kFloats);
#pragma unroll
        for (int n = 0; n < kAtOnce; ++n) there = there && (n >= count || is_there(part[n]));
        if (!there) patience.rest();
      }
#pragma unroll
      for (int n = 0; n < kAtOnce; ++n) {
        if (n >= count) break;
        take_away(from - n * kFloats);
        add_to(sum, part[n]);
      }
    }
    m.four(i) = sum;
  }
  __syncthreads();
  write_outputs<kRows, kOutputs>(u, m.sums);
}

// Short parts end at almost the same time: whoever comes last does not wait for anybody.
template <int kRows, int kOutputs>
__device__ void count_parts(const MatmulArgs& args, const Unit& u, const Meeting<kRows, kOutputs>& m) {
  constexpr int32_t kFloats = m.kFloats, kAtOnce = m.kAtOnce;
  float* mine = args.counted + m.block * kFloats;
  for (int32_t i = static_cast<int32_t>(threadIdx.x) * 4; i < m.floats; i += kThreads * 4)
    __stcg(reinterpret_cast<float4*>(mine + i), m.four(i));
  __threadfence();
  __syncthreads();
  __shared__ int32_t came;
  const int64_t first = m.block + u.part;  // the first part's block; others' are in front of it
  if (threadIdx.x == 0) came = atomicAdd(args.arrivals + first, 1);
  __syncthreads();
  if (came != m.split - 1) return;
  __threadfence();
  if (threadIdx.x == 0) args.arrivals[first] = 0;
  for (int32_t i = static_cast<int32_t>(threadIdx.x) * 4; i < m.floats; i += kThreads * 4) {
    const float* parts = args.counted + first * kFloats + i;
    float4 sum;
    for (int32_t base = 0; base < m.split; base += kAtOnce) {
      float4 part[kAtOnce];
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k)
        if (base + k < m.split) part[k] = __ldcg(reinterpret_cast<const float4*>(parts - (base + k) * kFloats));
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        if (base + k >= m.split) continue;
        if (base + k == 0)
          sum = part[k];
        else
          add_to(sum, part[k]);
      }
    }
    m.four(i) = sum;
  }
  __syncthreads();
  write_outputs<kRows, kOutputs>(u, m.sums);
}

// The sums of a unit's rows, which lie in shared memory, become outputs.
template <int kRows, int kOutputs>
__device__ void finish_sums(const MatmulArgs& args, const Unit& u, float* sums) {
  // Outputs are written in three places, and not in one behind all: measured, 0.4 % of a step.
  const Meeting<kRows, kOutputs> meeting(u, sums);
  if (u.product->split > 1 && u.product->weight.part >= kLongPart)
    hand_over_parts(args, u, meeting);
  else if (u.product->split > 1)
    count_parts(args, u, meeting);
  else
    write_outputs<kRows, kOutputs>(u, sums);
}

template <int kTiles>
__device__ void finish(const MatmulArgs& args, const Unit& u, const float (&total)[kTiles][4], float* sums) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
#pragma unroll
  for (int j = 0; j < kTiles; ++j)
#pragma unroll
    for (int i = 0; i < 4; ++i) sums[(j * 8 + t * 2 + i % 2) * kOutPad + warp * 16 + g + i / 2 * 8] = total[j][i];
  __syncthreads();
  finish_sums<kTiles * 8, kUnitOutputs>(args, u, sums);
}

}  // namespace paceline::kernels::cuda::narrow
