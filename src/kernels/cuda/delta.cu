// Gated DeltaNet. Two kernels: convolution, unit lengths and gates of all rows at once; then the states, row after row,
// a block per value head of a sequence, with the norm and the gate behind it.
//   state [key_dim, value_dim] float32, in registers from the first row to the last: read once and written once a call
// Four lanes share a column and take every fourth four of its keys: a sum is four sums of each lane, added in pairs,
// then over the four lanes. One order, whatever the rows of a call. Rows pass through shared memory, some ahead of the
// others. Bound: bytes of the states at few rows, the chain from row to row at many.
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/recurrent.h"

namespace paceline::kernels::cuda {
namespace {

constexpr float kUnitEps = 1e-6f;

// Of one sequence.
struct Seq {
  const DeltaTable& table;
  const uint64_t* words;
  DeltaHead head;

  __device__ __forceinline__ Seq(const DeltaTable& of, int32_t seq)
      : table(of), words(reinterpret_cast<const uint64_t*>(of.words) + static_cast<int64_t>(seq) * of.stride) {
    head = *reinterpret_cast<const DeltaHead*>(words);
  }
  [[nodiscard]] __device__ __forceinline__ float* at(int32_t word) const {
    return reinterpret_cast<float*>(words[word]);
  }
  [[nodiscard]] __device__ __forceinline__ float* state(int32_t value_head) const {
    return at(DeltaTable::kHeadWords + value_head);
  }
  [[nodiscard]] __device__ __forceinline__ float* recent() const { return at(table.recent_at()); }
  // Rows of tape: input [channels], key, error, decay.
  [[nodiscard]] __device__ __forceinline__ float* kept(int32_t row) const { return at(table.kept_at() + row); }
  [[nodiscard]] __device__ __forceinline__ float* keeps(int32_t row) const { return at(table.keeps_at() + row); }

  // Input number n from the oldest that a convolution reaches.
  [[nodiscard]] __device__ __forceinline__ const float* input(const DeltaRows& args, int32_t n) const {
    const int64_t channels = args.channels();
    const int32_t old = args.kernel - 1;
    if (n < old) return recent() + n * channels;
    if (n < old + head.replayed) return kept(n - old);
    return args.u + (head.first_row + n - old - head.replayed) * channels;
  }
};

constexpr int kInputThreads = kMaxDeltaDim;

// A block per head of a row: queries, keys, values.
__global__ void __launch_bounds__(kInputThreads) delta_inputs_kernel(const __grid_constant__ DeltaRows args) {
  __shared__ float scratch[kInputThreads / 32];
  const auto slot = static_cast<int32_t>(blockIdx.x), row = static_cast<int32_t>(blockIdx.y);
  const bool is_query = slot < args.key_heads, is_key = !is_query && slot < 2 * args.key_heads;
  const bool is_value = !is_query && !is_key;
  const int32_t value_head = slot - 2 * args.key_heads, width = is_value ? args.value_dim : args.key_dim;
  const int32_t first = is_value ? 2 * args.keys() + value_head * args.value_dim : slot * args.key_dim;
  const auto thread = static_cast<int32_t>(threadIdx.x);
  const bool here = thread < width;
  const int64_t channels = args.channels(), channel = first + (here ? thread : 0);
  float taps[kMaxDeltaKernel];
#pragma unroll
  for (int j = 0; j < kMaxDeltaKernel; ++j) taps[j] = j < args.kernel ? args.taps[j * channels + channel] : 0.0f;
  const Seq seq(args.table, args.table.seq_of_row[row]);
  const int32_t i = row - seq.head.first_row, tape = i - seq.head.certain;
  // Whoever comes behind may read states that the kernel before this one wrote.
  wait_for_previous();
  let_next_start();
  float inputs[kMaxDeltaKernel];
#pragma unroll
  for (int j = 0; j < kMaxDeltaKernel; ++j)
    inputs[j] = j < args.kernel ? seq.input(args, seq.head.replayed + i + j)[channel] : 0.0f;
  float sum = 0;
#pragma unroll
  for (int j = 0; j < kMaxDeltaKernel; ++j) sum = fmaf(taps[j], inputs[j], sum);
  float y = here ? gate(1, sum) : 0.0f;
  if (!is_value) {
    const float squares = block_sum<kInputThreads>(y * y, scratch);
    y *= rsqrtf(squares + kUnitEps) * (is_query ? args.query_scale : 1.0f);
  }
  if (here) args.y[row * channels + channel] = y;
  float* kept = tape >= 0 ? seq.keeps(tape) : nullptr;
  if (kept != nullptr && here) {
    kept[channel] = args.u[row * channels + channel];
    if (is_key) kept[channels + channel - args.keys()] = y;
  }
  if (!is_value || thread != 0) return;
  const int64_t at = static_cast<int64_t>(row) * args.value_heads + value_head;
  const float x = args.a[at] + args.bias[value_head];
  const float decay = expf(args.rate[value_head] * (x > 30.0f ? x : log1pf(expf(x))));
  const float beta = __fdiv_rn(1.0f, 1.0f + expf(-args.b[at]));
  *reinterpret_cast<float2*>(args.gates + 2 * at) = make_float2(decay, beta);
  if (kept != nullptr) kept[channels + args.keys() + args.values() + value_head] = decay;
}

// Rows that lie in shared memory at once; there are two such sets.
constexpr int32_t kChunk = 16;

// What a block has of some rows. Of rows that are run again keys and errors only.
struct Staged {
  float *q, *k, *v, *z;  // [kChunk, dim]; v becomes o
  float2* gates;         // [kChunk]: decay, beta

  static constexpr int32_t kFloats = kChunk * (4 * kMaxDeltaDim + 2);
  __device__ __forceinline__ explicit Staged(float* at)
      : q(at),
        k(q + kChunk * kMaxDeltaDim),
        v(k + kChunk * kMaxDeltaDim),
        z(v + kChunk * kMaxDeltaDim),
        gates(reinterpret_cast<float2*>(z + kChunk * kMaxDeltaDim)) {}
};

__device__ __forceinline__ void copy8_async(uint32_t to, const void* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(to), "l"(from) : "memory");
}

// A head's state in the registers of a block, and what a row does to it. kFours: of a lane's keys.
template <int kFours>
struct HeadState {
  const DeltaRows& args;
  const Seq& seq;
  int32_t head, key_head, dim, threads;
  int32_t part = static_cast<int32_t>(threadIdx.x % 4), column = static_cast<int32_t>(threadIdx.x / 4);
  bool here;
  float s[kFours][4];

  __device__ __forceinline__ HeadState(const DeltaRows& all, const Seq& of)
      : args(all),
        seq(of),
        head(static_cast<int32_t>(blockIdx.x)),
        key_head(all.dealt != 0 ? head % all.key_heads : head / (all.value_heads / all.key_heads)),
        dim(all.key_dim),
        threads(static_cast<int32_t>(blockDim.x)),
        here(column < all.value_dim) {}

  [[nodiscard]] __device__ __forceinline__ int32_t key_of(int i) const { return i * 16 + part * 4; }
  [[nodiscard]] __device__ __forceinline__ float* place(int i, int e) const {
    return seq.state(head) + static_cast<int64_t>(key_of(i) + e) * args.value_dim + column;
  }
  __device__ __forceinline__ void load() {
#pragma unroll
    for (int i = 0; i < kFours; ++i)
#pragma unroll
      for (int e = 0; e < 4; ++e) s[i][e] = here && key_of(i) < dim ? *place(i, e) : 0.0f;
  }
  __device__ __forceinline__ void store() const {
#pragma unroll
    for (int i = 0; i < kFours; ++i)
#pragma unroll
      for (int e = 0; e < 4; ++e)
        if (here && key_of(i) < dim) *place(i, e) = s[i][e];
  }

  // Fours of a row into shared memory, asked for and not waited for.
  __device__ __forceinline__ void copy(float* to, int32_t row, const float* from, int32_t floats) const {
    for (int32_t at = static_cast<int32_t>(threadIdx.x) * 4; at < floats; at += threads * 4)
      copy16_async(shared_address(to + row * kMaxDeltaDim + at), from + at, true);
  }
  __device__ __forceinline__ void stage_rows(const Staged& to, int32_t first) const {
    const int64_t channels = args.channels();
    const int32_t count = min(kChunk, seq.head.count - first), fours = kMaxDeltaDim / 4;
    // A thread takes one four of one row of one of the four.
    for (auto i = static_cast<int32_t>(threadIdx.x); i < count * fours * 4; i += threads) {
      const int32_t kind = i / (count * fours), row = i / fours % count, at = i % fours * 4;
      const int64_t from = seq.head.first_row + first + row;
      const float* y = args.y + from * channels;
      if (at >= (kind < 2 ? dim : args.value_dim)) continue;
      const float* source = kind == 0   ? y + key_head * dim
                            : kind == 1 ? y + args.keys() + key_head * dim
                            : kind == 2 ? y + 2 * args.keys() + head * args.value_dim
                                        : args.z + (from * args.value_heads + head) * args.value_dim;
      float* target = kind == 0 ? to.q : kind == 1 ? to.k : kind == 2 ? to.v : to.z;
      copy16_async(shared_address(target + row * kMaxDeltaDim + at), source + at, true);
    }
    for (auto row = static_cast<int32_t>(threadIdx.x); row < count; row += threads)
      copy8_async(
          shared_address(to.gates + row),
          args.gates + ((seq.head.first_row + first + row) * static_cast<int64_t>(args.value_heads) + head) * 2);
  }
  __device__ __forceinline__ void stage_kept(const Staged& to, int32_t first) const {
    const int64_t channels = args.channels();
    for (int32_t row = 0; row < min(kChunk, seq.head.replayed - first); ++row) {
      const float* tape = seq.kept(first + row) + channels;
      copy(to.k, row, tape + key_head * dim, dim);
      copy(to.v, row, tape + args.keys() + head * args.value_dim, args.value_dim);
    }
    for (auto row = static_cast<int32_t>(threadIdx.x); row < min(kChunk, seq.head.replayed - first); row += threads)
      to.gates[row] = make_float2(seq.kept(first + row)[channels + args.keys() + args.values() + head], 0.0f);
  }

  __device__ __forceinline__ void load_keys(const float* row, float (&keys)[kFours][4]) const {
#pragma unroll
    for (int i = 0; i < kFours; ++i) {
      float4 four = make_float4(0, 0, 0, 0);
      if (key_of(i) < dim) four = *reinterpret_cast<const float4*>(row + key_of(i));
      keys[i][0] = four.x, keys[i][1] = four.y, keys[i][2] = four.z, keys[i][3] = four.w;
    }
  }
  // The state's column with a row, by all lanes of the column.
  [[nodiscard]] __device__ __forceinline__ float dot(const float (&row)[kFours][4]) const {
    float sums[4] = {};
#pragma unroll
    for (int i = 0; i < kFours; ++i)
#pragma unroll
      for (int e = 0; e < 4; ++e) sums[e] = fmaf(s[i][e], row[i][e], sums[e]);
    float sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    sum += __shfl_xor_sync(~0u, sum, 1);
    return sum + __shfl_xor_sync(~0u, sum, 2);
  }
  __device__ __forceinline__ void update(const float (&keys)[kFours][4], float decay, float error) {
#pragma unroll
    for (int i = 0; i < kFours; ++i)
#pragma unroll
      for (int e = 0; e < 4; ++e) s[i][e] = fmaf(keys[i][e], error, s[i][e] * decay);
  }

  __device__ __forceinline__ void replay(const Staged& rows, int32_t count) {
    for (int32_t row = 0; row < count; ++row) {
      float keys[kFours][4];
      load_keys(rows.k + row * kMaxDeltaDim, keys);
      update(keys, rows.gates[row].x, rows.v[row * kMaxDeltaDim + (here ? column : 0)]);
    }
  }
  __device__ __forceinline__ void step(const Staged& rows, int32_t row, int32_t number) {
    float keys[kFours][4];
    load_keys(rows.k + row * kMaxDeltaDim, keys);
    const float2 gates = rows.gates[row];
    float* value = rows.v + row * kMaxDeltaDim + (here ? column : 0);
    const float error = gates.y * (*value - gates.x * dot(keys));
    update(keys, gates.x, error);
    load_keys(rows.q + row * kMaxDeltaDim, keys);
    const float out = dot(keys);
    __syncwarp();
    if (!here || part != 0) return;
    *value = out;
    if (number >= seq.head.certain)
      seq.keeps(number - seq.head.certain)[args.channels() + args.keys() + head * args.value_dim + column] = error;
  }
};

// out = norm(o) * weight * silu(z), a warp per row.
__device__ __forceinline__ void write_rows(const DeltaRows& args, const Staged& rows, int64_t first_row, int32_t count,
                                           int32_t head) {
  const auto lane = static_cast<int32_t>(threadIdx.x % 32);
  constexpr int kEach = kMaxDeltaDim / 32;
  for (auto row = static_cast<int32_t>(threadIdx.x / 32); row < count; row += static_cast<int32_t>(blockDim.x / 32)) {
    const float *o = rows.v + row * kMaxDeltaDim, *z = rows.z + row * kMaxDeltaDim;
    float squares = 0;
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const float value = lane + i * 32 < args.value_dim ? o[lane + i * 32] : 0.0f;
      squares = fmaf(value, value, squares);
    }
    const float factor = rsqrtf(__fdiv_rn(warp_sum(squares), static_cast<float>(args.value_dim)) + args.eps);
    const int64_t at = first_row + row;
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int32_t column = lane + i * 32;
      if (column >= args.value_dim) continue;
      const float out = o[column] * factor * args.weight[column] * gate(1, z[column]);
      const int32_t place = head * args.value_dim + column;
      args.z[at * args.values() + place] = out;
      if (args.out_bf16 != nullptr)
        reinterpret_cast<__nv_bfloat16*>(args.out_bf16)[at * args.out_stride + place] = __float2bfloat16_rn(out);
    }
  }
}

// The newest inputs of a channel behind the rows that stay: all are read before any is written.
__device__ __forceinline__ void keep_recent(const DeltaRows& args, const Seq& seq, int64_t channel) {
  const int32_t old = args.kernel - 1, first = seq.head.replayed + seq.head.certain;
  if (first == 0 || channel >= args.channels()) return;
  float inputs[kMaxDeltaKernel - 1];
#pragma unroll
  for (int j = 0; j < kMaxDeltaKernel - 1; ++j) inputs[j] = j < old ? seq.input(args, first + j)[channel] : 0.0f;
#pragma unroll
  for (int j = 0; j < kMaxDeltaKernel - 1; ++j)
    if (j < old) seq.recent()[static_cast<int64_t>(j) * args.channels() + channel] = inputs[j];
}

template <int kFours>
__global__ void __launch_bounds__(4 * kMaxDeltaDim) delta_states_kernel(const __grid_constant__ DeltaRows args) {
  extern __shared__ __align__(16) float shared[];
  let_next_start();
  const Seq seq(args.table, static_cast<int32_t>(blockIdx.y));
  // Behind the heads' blocks.
  if (const int32_t behind = static_cast<int32_t>(blockIdx.x) - args.value_heads; behind >= 0) {
    wait_for_previous();
    return keep_recent(args, seq, static_cast<int64_t>(behind) * blockDim.x + threadIdx.x);
  }
  const auto set = [&](int32_t first) { return Staged(shared + first / kChunk % 2 * Staged::kFloats); };
  HeadState<kFours> state(args, seq);
  // Older than the kernel in front, as is the tape.
  state.load();
  for (int32_t first = 0; first < seq.head.replayed; first += kChunk) {
    state.stage_kept(set(0), first);
    commit_copies();
    wait_copies<0>();
    __syncthreads();
    state.replay(set(0), min(kChunk, seq.head.replayed - first));
    __syncthreads();
  }
  wait_for_previous();
  state.stage_rows(set(0), 0);
  commit_copies();
  bool stored = seq.head.replayed + seq.head.certain == 0;
  for (int32_t first = 0; first < seq.head.count; first += kChunk) {
    const Staged rows = set(first);
    if (first + kChunk < seq.head.count) state.stage_rows(set(first + kChunk), first + kChunk);
    commit_copies();
    wait_copies<1>();
    __syncthreads();
    const int32_t count = min(kChunk, seq.head.count - first);
    for (int32_t row = 0; row < count; ++row) {
      if (!stored && first + row >= seq.head.certain) {
        state.store();
        stored = true;
      }
      state.step(rows, row, first + row);
    }
    __syncthreads();
    write_rows(args, rows, seq.head.first_row + first, count, state.head);
    __syncthreads();
  }
  if (!stored) state.store();
}

template <int kFours>
void start_states(const DeltaRows& args, Stream stream) {
  const int32_t threads = round_up(4 * args.value_dim, 32);
  const dim3 grid(static_cast<unsigned>(args.value_heads + ceil_div(args.channels(), threads)),
                  static_cast<unsigned>(args.seqs));
  launch(delta_states_kernel<kFours>, grid, dim3(static_cast<unsigned>(threads)), 2 * sizeof(float) * Staged::kFloats,
         stream, true, args);
}

}  // namespace

void delta(const DeltaRows& args, Stream stream) {
  const dim3 grid(static_cast<unsigned>(2 * args.key_heads + args.value_heads), static_cast<unsigned>(args.rows));
  launch(delta_inputs_kernel, grid, dim3(kInputThreads), 0, stream, true, args);
  if (args.key_dim <= 16)
    start_states<1>(args, stream);
  else if (args.key_dim <= 32)
    start_states<2>(args, stream);
  else if (args.key_dim <= 64)
    start_states<4>(args, stream);
  else
    start_states<8>(args, stream);
}

}  // namespace paceline::kernels::cuda
