// Heads where joined pages are codes (kv_rotation.h): norm and RoPE as elsewhere, then the rotation of codes, and codes
// into the page. And the way back, of what attention gives. One warp per head of a row; a lane has of each block of 128
// numbers four in a row.
// Bound by launches at few rows, by bytes at many.
#include "kernels/cuda/attention.h"
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/heads.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/row_bytes.cuh"

namespace paceline::kernels::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kPairs = 8;  // per lane
constexpr int kBlocks = kJoinedDim / kJoinedTurned;
static_assert(kJoinedTurned == 128);

// Four numbers of a block of 128, with the signs of their places.
struct RotatedFour {
  float x[4];

  __device__ __forceinline__ explicit RotatedFour(const float4& four) : x{four.x, four.y, four.z, four.w} {}
  __device__ __forceinline__ void sign(const CodeSigns& signs, int block, float size) {
    const uint32_t at = block * 128 + threadIdx.x % 32 * 4, bits = signs.bits[at / 32] >> at % 32;
#pragma unroll
    for (int i = 0; i < 4; ++i) x[i] *= (bits >> i & 1u) != 0 ? -size : size;
  }
  // Strides ascending, (a + b, a - b) each.
  __device__ __forceinline__ void butterflies() {
    const auto both = [&](int i, int j) {
      const float a = x[i], b = x[j];
      x[i] = a + b;
      x[j] = a - b;
    };
    both(0, 1), both(2, 3);
    both(0, 2), both(1, 3);
#pragma unroll
    for (int offset = 1; offset < 32; offset *= 2)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float other = __shfl_xor_sync(~0u, x[i], offset);
        x[i] = (threadIdx.x & offset) == 0 ? x[i] + other : other - x[i];
      }
  }
  [[nodiscard]] __device__ __forceinline__ float4 four() const { return make_float4(x[0], x[1], x[2], x[3]); }
};

// As encode() in kv_rotation.h has it; all lanes give the vector's largest magnitude, as bits.
struct CodeScale {
  float inverse = 0, scale = 0;

  __device__ __forceinline__ explicit CodeScale(uint32_t top_bits) {
    const float top = __uint_as_float(top_bits);
    const bool numbers = top_bits < 0x7f800000u;
    inverse = numbers && top > 0 ? __fdiv_rn(127.0f, top) : 0.0f;
    if (magnitude(inverse) >= 0x7f800000u) inverse = 0;
    scale = !numbers ? __uint_as_float(0x7fffffffu) : inverse > 0 ? __fdiv_rn(top, 127.0f) : 0.0f;
  }
  // Code and 128 of four numbers, a byte each.
  [[nodiscard]] __device__ __forceinline__ uint32_t bytes(const float (&x)[4]) const {
    uint32_t all = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i)
      all |= static_cast<uint32_t>(inverse > 0 ? __float2int_rn(x[i] * inverse) + 128 : 128) << i * 8;
    return all;
  }
};

__device__ __forceinline__ uint32_t top_of(const RotatedFour& four) {
  return max(max(magnitude(four.x[0]), magnitude(four.x[1])), max(magnitude(four.x[2]), magnitude(four.x[3])));
}

// What of a row goes where.
struct Job {
  int64_t row;
  int32_t head;
  int kind;  // q, k, v

  __device__ __forceinline__ explicit Job(const HeadsArgs& args) {
    const int32_t per_row = args.heads + (args.k != nullptr ? 2 * args.kv_heads : 0);
    const int64_t job = static_cast<int64_t>(blockIdx.x) * (kThreads / 32) + threadIdx.x / 32;
    row = job / per_row;
    head = static_cast<int32_t>(job % per_row);
    kind = head < args.heads ? 0 : head < args.heads + args.kv_heads ? 1 : 2;
    if (kind > 0) head -= args.heads;
    if (kind > 1) head -= args.kv_heads;
  }
};

// Codes of a head's blocks from `first` panel on, and their scale.
template <int kCount>
__device__ __forceinline__ void store_codes(char* page, int32_t token, int first_panel, float* scale_at,
                                            const float4* ordered, const CodeSigns& signs) {
  const int lane = threadIdx.x % 32;
  uint32_t top = 0;
  float4 rotated[kCount];
#pragma unroll
  for (int block = 0; block < kCount; ++block) {
    RotatedFour four(ordered[block * 32 + lane]);
    four.sign(signs, block, 1.0f);
    four.butterflies();
    top = max(top, top_of(four));
    rotated[block] = four.four();
  }
  const CodeScale scale(warp_top(top));
#pragma unroll
  for (int block = 0; block < kCount; ++block) {
    const int panel = first_panel + block * 2 + lane / 16;
    *reinterpret_cast<uint32_t*>(page + panel * kCodePanelBytes + token * 64 + lane % 16 * 4) =
        scale.bytes(RotatedFour(rotated[block]).x);
  }
  if (lane == 0) *scale_at = scale.scale;
}

__global__ void coded_heads_kernel(const __grid_constant__ HeadsArgs args, const __grid_constant__ CodeSigns signs) {
  __shared__ float4 blocks[kThreads / 32][kJoinedDim / 4];
  let_next_start();
  const Job job(args);
  if (job.row >= args.rows) return;
  const HeadHalves halves{kJoinedDim / 2, args.turned};
  const float* from = job.kind == 0 ? args.q + (job.row * args.heads + job.head) * kJoinedDim
                                    : args.k + (job.row * args.kv_heads + job.head) * kJoinedDim;
  HeadRow<kPairs> weights, values, angle;
  weights.load(job.kind == 0 ? args.q_weight : job.kind == 1 ? args.k_weight : nullptr, halves, 1.0f);
  wait_for_previous();
  values.load(from, halves, 0.0f);
  values.norm(weights, kJoinedDim, args.eps);
  if (job.kind != 2) {
    angle.load_angle(args.cos + job.row * args.turned, args.sin + job.row * args.turned, halves);
    values.turn(angle);
  }
  if (job.kind == 0) values.weigh_beyond(args.k_weight, kJoinedTurned / 2, halves);
  if (job.kind == 1) values.fail_key(is_finite_head(times_nothing(from, kJoinedDim)));
  if (job.kind == 2) values.fail_value();
  // Into the order of blocks, through shared memory.
  float4* ordered = blocks[threadIdx.x / 32];
  const int lane = threadIdx.x % 32;
  float4* natural = ordered;
  values.each_four(halves, [&](int32_t at, const float4& four) { natural[at / 4] = four; });
  __syncwarp();
  float4 own[kBlocks];
#pragma unroll
  for (int block = 0; block < kBlocks; ++block) own[block] = natural[joined_dim(block * 128 + lane * 4) / 4];
  __syncwarp();
  if (job.kind == 0) {
    auto* to = reinterpret_cast<float4*>(args.q + (job.row * args.heads + job.head) * kJoinedDim);
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
      RotatedFour four(own[block]);
      four.sign(signs, block, 1.0f / 128);
      four.butterflies();
      to[block * 32 + lane] = four.four();
    }
    return;
  }
#pragma unroll
  for (int block = 0; block < kBlocks; ++block) ordered[block * 32 + lane] = own[block];
  __syncwarp();
  const DeviceSeq& seq = args.seqs[args.seq_of_row[job.row]];
  const int32_t pos = seq.first_pos + static_cast<int32_t>(job.row) - seq.first_row, token = pos % kPageTokens;
  char* page = static_cast<char*>(seq.keys_of(pos / kPageTokens)) + static_cast<int64_t>(job.head) * kCodedPageBytes;
  auto* scales = reinterpret_cast<float*>(page + kCodeBytes);
  if (job.kind == 1)
    store_codes<1>(page, token, kJoinedPanels - 2, scales + kPageTokens + token, ordered, signs);
  else
    store_codes<kBlocks>(page, token, 0, scales + token, ordered, signs);
}

__global__ void turn_back_kernel(const __grid_constant__ TurnBackArgs args) {
  let_next_start();
  const int64_t job = static_cast<int64_t>(blockIdx.x) * (kThreads / 32) + threadIdx.x / 32;
  const int64_t row = job / args.heads, head = job % args.heads;
  if (row >= args.rows) return;
  const int lane = threadIdx.x % 32;
  wait_for_previous();
  const auto* from = reinterpret_cast<const float4*>(args.in + job * kJoinedDim);
#pragma unroll
  for (int block = 0; block < kBlocks; ++block) {
    RotatedFour four(from[block * 32 + lane]);
    four.butterflies();
    four.sign(args.signs, block, 1.0f / 128);
    const int32_t at = joined_dim(block * 128 + lane * 4);
    if (args.out != nullptr) *reinterpret_cast<float4*>(args.out + job * kJoinedDim + at) = four.four();
    if (args.out_bf16 != nullptr)
      *reinterpret_cast<uint2*>(args.out_bf16 + row * args.out_stride + head * kJoinedDim + at) =
          make_uint2(pack_bf16(four.x[0], four.x[1]), pack_bf16(four.x[2], four.x[3]));
  }
}

}  // namespace

void coded_heads(const HeadsArgs& args, const CodeSigns& signs, Stream stream) {
  const int64_t jobs = int64_t{args.rows} * (args.heads + (args.k != nullptr ? 2 * args.kv_heads : 0));
  launch(coded_heads_kernel, dim3(static_cast<unsigned>((jobs + 3) / 4)), dim3(kThreads), 0, stream, true, args, signs);
}

void turn_back(const TurnBackArgs& args, Stream stream) {
  const int64_t jobs = int64_t{args.rows} * args.heads;
  launch(turn_back_kernel, dim3(static_cast<unsigned>((jobs + 3) / 4)), dim3(kThreads), 0, stream, true, args);
}

}  // namespace paceline::kernels::cuda
