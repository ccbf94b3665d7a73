// Per head: norm, rotation, and keys and values into their pages. One warp per head of a row.
//   q [rows, heads, dim] in place; k, v [rows, kv_heads, dim] -> keys [kv_head][64][dim], values [kv_head][dim][64]
// Bound by launches at few rows, by bytes at many.
#include "kernels/cuda/attention.h"
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/launch.cuh"

namespace paceline::kernels::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kPairs = 8;  // per lane: head_dim up to 512

__device__ void store(void* page, int32_t wide, int64_t at, float value) {
  if (wide)
    static_cast<float*>(page)[at] = value;
  else
    static_cast<__nv_bfloat16*>(page)[at] = __float2bfloat16_rn(value);
}

__global__ void heads_kernel(const HeadsArgs args) {
  let_next_start();
  wait_for_previous();
  const int32_t per_row = args.heads + (args.k != nullptr ? 2 * args.kv_heads : 0);
  const int64_t job = static_cast<int64_t>(blockIdx.x) * (kThreads / 32) + threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const int64_t row = job / per_row;
  if (row >= args.rows) return;
  int32_t head = static_cast<int32_t>(job % per_row);
  const int kind = head < args.heads ? 0 : head < args.heads + args.kv_heads ? 1 : 2;  // q, k, v
  if (kind == 1) head -= args.heads;
  if (kind == 2) head -= args.heads + args.kv_heads;
  const int32_t dim = args.head_dim, half = dim / 2;
  const float* from = kind == 0   ? args.q + (row * args.heads + head) * dim
                      : kind == 1 ? args.k + (row * args.kv_heads + head) * dim
                                  : args.v + (row * args.kv_heads + head) * dim;
  const float* weight = kind == 0 ? args.q_weight : kind == 1 ? args.k_weight : nullptr;
  float low[kPairs], high[kPairs];
  float squares = 0;
#pragma unroll
  for (int i = 0; i < kPairs; ++i) {
    const int32_t at = i * 32 + lane;
    low[i] = at < half ? from[at] : 0.0f;
    high[i] = at < half ? from[at + half] : 0.0f;
    squares = fmaf(low[i], low[i], squares);
    squares = fmaf(high[i], high[i], squares);
  }
  const float factor = rsqrtf(__fdiv_rn(warp_sum(squares), static_cast<float>(dim)) + args.eps);
#pragma unroll
  for (int i = 0; i < kPairs; ++i) {
    const int32_t at = i * 32 + lane;
    if (at >= half) continue;
    low[i] = low[i] * factor * (weight != nullptr ? weight[at] : 1.0f);
    high[i] = high[i] * factor * (weight != nullptr ? weight[at + half] : 1.0f);
    if (kind == 2) continue;
    const float c = args.cos[row * half + at], s = args.sin[row * half + at];
    const float a = low[i], b = high[i];
    low[i] = a * c - b * s;
    high[i] = b * c + a * s;
  }
  if (kind == 0) {
    float* to = args.q + (row * args.heads + head) * dim;
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
      const int32_t at = i * 32 + lane;
      if (at >= half) continue;
      to[at] = low[i];
      to[at + half] = high[i];
    }
    return;
  }
  const DeviceSeq& seq = args.seqs[args.seq_of_row[row]];
  const int32_t pos = seq.first_pos + static_cast<int32_t>(row) - seq.first_row;
  const int32_t page = pos / kPageTokens, slot = seq.slots == 0 ? page : page % seq.slots, token = pos % kPageTokens;
  void* to = kind == 1 ? seq.keys[slot] : seq.values[slot];
  const int64_t base = static_cast<int64_t>(head) * kPageTokens * dim;
#pragma unroll
  for (int i = 0; i < kPairs; ++i) {
    const int32_t at = i * 32 + lane;
    if (at >= half) continue;
    if (kind == 1) {
      store(to, args.wide_kv, base + static_cast<int64_t>(token) * dim + at, low[i]);
      store(to, args.wide_kv, base + static_cast<int64_t>(token) * dim + at + half, high[i]);
    } else {
      store(to, args.wide_kv, base + static_cast<int64_t>(at) * kPageTokens + token, low[i]);
      store(to, args.wide_kv, base + static_cast<int64_t>(at + half) * kPageTokens + token, high[i]);
    }
  }
}

}  // namespace

void heads(const HeadsArgs& args, Stream stream) {
  const int64_t jobs = int64_t{args.rows} * (args.heads + (args.k != nullptr ? 2 * args.kv_heads : 0));
  launch(heads_kernel, dim3(static_cast<unsigned>((jobs + 3) / 4)), dim3(kThreads), 0, stream, true, args);
}

}  // namespace paceline::kernels::cuda
