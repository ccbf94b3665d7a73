// Attention over float32 pages, for checks: plain sums in the order of absolute positions, chunk by chunk. No share of
// anything claimed.
#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/launch.cuh"

namespace paceline::kernels::cuda {
namespace {

// One block per row and head.
__global__ void attention_f32_kernel(const AttentionArgs args) {
  extern __shared__ __align__(16) char shared[];
  wait_for_previous();
  const int32_t row = static_cast<int32_t>(blockIdx.x), head = static_cast<int32_t>(blockIdx.y), dim = args.head_dim;
  const DeviceSeq& seq = args.seqs[args.seq_of_row[row]];
  const int32_t pos = seq.first_pos + row - seq.first_row;
  const int32_t begin = first_key(args, pos), last = last_key(args, row, pos);
  const int32_t kv_head = head / (args.heads / args.kv_heads);
  const int64_t offset = (static_cast<int64_t>(row) * args.heads + head) * dim;
  auto* weights = reinterpret_cast<float*>(shared);  // [kPageTokens]
  // Of the chunk, and of those in front.
  float best = kNone, all = 0, total_best = kNone, total = 0;
  float value[4] = {}, total_value[4] = {};
  const auto end_chunk = [&] {
    const float higher = fmaxf(total_best, best);
    const float before = total_best == kNone ? 0.0f : expf(total_best - higher);
    const float now = best == kNone ? 0.0f : expf(best - higher);
    total = fmaf(all, now, total * before);
    for (int i = 0; i < 4; ++i) total_value[i] = fmaf(value[i], now, total_value[i] * before);
    total_best = higher;
    best = kNone;
    all = value[0] = value[1] = value[2] = value[3] = 0;
  };
  for (int32_t page = begin / kPageTokens; page * kPageTokens <= last; ++page) {
    if (page % kChunkPages == 0) end_chunk();
    const int64_t head_floats = static_cast<int64_t>(kv_head) * kPageTokens * dim;
    const float* keys = static_cast<const float*>(seq.keys_of(page)) + head_floats;
    const float* values = static_cast<const float*>(seq.values_of(page)) + head_floats;
    __syncthreads();
    for (int32_t token = threadIdx.x; token < kPageTokens; token += blockDim.x) {
      const int32_t key = page * kPageTokens + token;
      float score = kNone;
      if (key >= begin && key <= last) {
        score = 0;
        for (int32_t i = 0; i < dim; ++i)
          score = fmaf(args.q[offset + i], keys[static_cast<int64_t>(token) * dim + i], score);
      }
      weights[token] = score;
    }
    __syncthreads();
    float higher = best;
    // What is no number stays: whoever sees it has none.
    for (int32_t i = 0; i < kPageTokens; ++i)
      higher = isnan(higher) || weights[i] <= higher ? higher : weights[i];
    if (higher == kNone) continue;
    const float before = best == kNone ? 0.0f : expf(best - higher);
    all *= before;
    for (int i = 0; i < 4; ++i) value[i] *= before;
    for (int32_t token = 0; token < kPageTokens; ++token) {
      if (weights[token] == kNone) continue;
      const float weight = expf(weights[token] - higher);
      all += weight;
      for (int i = 0; i < 4; ++i) {
        const int32_t at = i * static_cast<int32_t>(blockDim.x) + static_cast<int32_t>(threadIdx.x);
        if (at < dim) value[i] = fmaf(weight, values[static_cast<int64_t>(token) * dim + at], value[i]);
      }
    }
    best = higher;
  }
  end_chunk();
  for (int i = 0; i < 4; ++i) {
    const int32_t at = i * static_cast<int32_t>(blockDim.x) + static_cast<int32_t>(threadIdx.x);
    if (at < dim) args.out[offset + at] = total != 0 ? __fdiv_rn(total_value[i], total) : 0.0f;
  }
}

}  // namespace

void attention_f32(const AttentionArgs& args, Stream stream) {
  launch(attention_f32_kernel, dim3(static_cast<unsigned>(args.rows), static_cast<unsigned>(args.heads)), dim3(128),
         kPageTokens * sizeof(float), stream, true, args);
}

}  // namespace paceline::kernels::cuda
