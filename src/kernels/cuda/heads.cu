// Per head: norm, rotation, and keys and values into their pages. One warp per head of a row.
//   q [rows, heads, dim] in place; k, v [rows, kv_heads, dim] -> keys [kv_head][64][dim], values likewise
// Bound by launches at few rows, by bytes at many.
#include "kernels/cuda/attention.h"
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/heads.cuh"
#include "kernels/cuda/launch.cuh"

namespace paceline::kernels::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kPairs = 8;  // per lane: head_dim up to 512

PACELINE_BOTH int32_t heads_of_row(const HeadsArgs& args) {
  return args.heads + (args.k != nullptr ? args.kv_heads : 0) + (args.v != nullptr ? args.kv_heads : 0);
}

__device__ __forceinline__ void store_row(float* to, const HeadRow<kPairs>& values, const HeadHalves& halves) {
  values.each_four(halves, [&](int32_t at, const float4& four) { *reinterpret_cast<float4*>(to + at) = four; });
}

// A value, or of a key what is turned of it.
__device__ __forceinline__ void store_joined(void* page, int32_t head, int32_t token, const HeadRow<kPairs>& values,
                                             const HeadHalves& halves, bool is_key) {
  auto* to = static_cast<uint16_t*>(page) + static_cast<int64_t>(head) * kPageTokens * (kJoinedDim + kJoinedTurned);
  values.each_four(halves, [&](int32_t at, const float4& four) {
    const int32_t pair = at % halves.half;
    if (is_key && pair >= kJoinedTurned / 2) return;
    const int32_t place = !is_key ? at : kJoinedDim + (at < halves.half ? pair : kJoinedTurned / 2 + pair);
    *reinterpret_cast<uint2*>(to + joined_place(token, place)) =
        make_uint2(pack_bf16(four.x, four.y), pack_bf16(four.z, four.w));
  });
}

__global__ void heads_kernel(const HeadsArgs args) {
  let_next_start();
  const int32_t per_row = heads_of_row(args);
  const int64_t job = static_cast<int64_t>(blockIdx.x) * (kThreads / 32) + threadIdx.x / 32;
  const int64_t row = job / per_row;
  if (row >= args.rows) return;
  const int32_t own_seq = args.seq_of_row[row];
  if (own_seq < 0) return;
  int32_t head = static_cast<int32_t>(job % per_row);
  const int kind = head < args.heads ? 0 : head < args.heads + args.kv_heads ? 1 : 2;  // q, k, v
  if (kind == 1) head -= args.heads;
  if (kind == 2) head -= args.heads + args.kv_heads;
  const int32_t dim = args.head_dim;
  const HeadHalves halves{dim / 2, args.turned};
  const float* from = kind == 0   ? args.q + (row * args.heads + head) * dim
                      : kind == 1 ? args.k + (row * args.kv_heads + head) * dim
                                  : args.v + (row * args.kv_heads + head) * dim;
  const float* weight = kind == 0 ? args.q_weight : kind == 1 ? args.k_weight : nullptr;
  // Weights and tables do not depend on the kernel in front.
  HeadRow<kPairs> weights, values, angle;
  weights.load(weight, halves, 1.0f);
  int32_t token = 0;
  void* page_of_row = nullptr;
  if (kind != 0) {
    const DeviceSeq& seq = args.seqs[own_seq];
    const int32_t pos = seq.first_pos + static_cast<int32_t>(row) - seq.first_row;
    const int32_t page = pos / kPageTokens;
    token = pos % kPageTokens;
    page_of_row = kind == 1 || args.joined ? seq.keys_of(page) : seq.values_of(page);
  }
  wait_for_previous();
  values.load(from, halves, 0.0f);
  if (kind != 2) angle.load_angle(args.cos + row * args.turned, args.sin + row * args.turned, halves);
  if (kind != 2 || args.norms_values) values.norm(weights, dim, args.eps);
  if (kind != 2) values.turn(angle);
  if (kind == 1 && args.v != nullptr)
    values.fail_key(is_finite_head(times_nothing(args.v + (row * args.kv_heads + head) * dim, dim)));
  if (kind == 2) values.fail_value();
  if (args.joined) {
    if (kind == 0) values.weigh_beyond(args.k_weight, kJoinedTurned / 2, halves);
    if (kind == 0) store_row(args.q + (row * args.heads + head) * dim, values, halves);
    if (kind != 0) store_joined(page_of_row, head, token, values, halves, kind == 1);
    return;
  }
  if (kind == 0) return store_row(args.q + (row * args.heads + head) * dim, values, halves);
  const int64_t first = (static_cast<int64_t>(head) * kPageTokens + token) * dim;
  if (args.wide_kv) return store_row(static_cast<float*>(page_of_row) + first, values, halves);
  values.each_four(halves, [&](int32_t at, const float4& four) {
    *reinterpret_cast<uint2*>(static_cast<uint16_t*>(page_of_row) + first + at) =
        make_uint2(pack_bf16(four.x, four.y), pack_bf16(four.z, four.w));
  });
}

}  // namespace

void heads(const HeadsArgs& args, Stream stream) {
  const int64_t jobs = int64_t{args.rows} * heads_of_row(args);
  launch(heads_kernel, dim3(static_cast<unsigned>((jobs + 3) / 4)), dim3(kThreads), 0, stream, true, args);
}

}  // namespace paceline::kernels::cuda
