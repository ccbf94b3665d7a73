// RMS norms. One block per row; the row stays in registers from one norm to the next.
//   x, branch, y: [rows, width]
// Bound by launches at few rows, by bytes (width * 4 * 2 to 4 per row; with experts the slots of a row as well) at
// many. A thread has four columns in a row at a time: little code, which every launch fetches anew, and a group of
// bytes stays within a warp.
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/handover.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/row_bytes.cuh"
#include "kernels/cuda/rows.h"

namespace paceline::kernels::cuda {
namespace {

// Which columns a thread has follows from the width alone, and so does the order of a row's sum: column i % 4 of four
// that begin at quad(i / 4). kVector: all rows and weights lie so that four are one load.
template <int kThreads, int kQuads, bool kVector>
struct Columns {
  static constexpr int kEach = kQuads * 4;
  int32_t width;

  __device__ __forceinline__ int32_t quad(int q) const {
    return (q * kThreads + static_cast<int32_t>(threadIdx.x)) * 4;
  }
  __device__ __forceinline__ bool present(int i) const { return quad(i / 4) + i % 4 < width; }

  __device__ __forceinline__ void load(const float* from, float otherwise, float (&to)[kEach]) const {
#pragma unroll
    for (int q = 0; q < kQuads; ++q) {
      if constexpr (kVector) {
        float4 v = make_float4(otherwise, otherwise, otherwise, otherwise);
        if (from != nullptr && quad(q) < width) v = *reinterpret_cast<const float4*>(from + quad(q));
        to[q * 4] = v.x, to[q * 4 + 1] = v.y, to[q * 4 + 2] = v.z, to[q * 4 + 3] = v.w;
      } else {
#pragma unroll
        for (int i = q * 4; i < q * 4 + 4; ++i)
          to[i] = from != nullptr && present(i) ? from[quad(q) + i % 4] : otherwise;
      }
    }
  }
  // The same past the first-level cache, while others may write; zeros where there is no column.
  __device__ __forceinline__ void look_at(const float* from, float (&to)[kEach]) const {
#pragma unroll
    for (int q = 0; q < kQuads; ++q) {
      if constexpr (kVector) {
        const float4 v = quad(q) < width ? look(from + quad(q)) : make_float4(0, 0, 0, 0);
        to[q * 4] = v.x, to[q * 4 + 1] = v.y, to[q * 4 + 2] = v.z, to[q * 4 + 3] = v.w;
      } else {
#pragma unroll
        for (int i = q * 4; i < q * 4 + 4; ++i) to[i] = present(i) ? look_one(from + quad(q) + i % 4) : 0.0f;
      }
    }
  }
  __device__ __forceinline__ void take_away(float* from) const {
#pragma unroll
    for (int q = 0; q < kQuads; ++q) {
      if constexpr (kVector) {
        if (quad(q) < width) cuda::take_away(from + quad(q));
      } else {
#pragma unroll
        for (int i = q * 4; i < q * 4 + 4; ++i)
          if (present(i)) take_away_one(from + quad(q) + i % 4);
      }
    }
  }
  __device__ __forceinline__ void store(float* to, const float (&from)[kEach]) const {
#pragma unroll
    for (int q = 0; q < kQuads; ++q) {
      if constexpr (kVector) {
        if (quad(q) < width)
          *reinterpret_cast<float4*>(to + quad(q)) =
              make_float4(from[q * 4], from[q * 4 + 1], from[q * 4 + 2], from[q * 4 + 3]);
      } else {
#pragma unroll
        for (int i = q * 4; i < q * 4 + 4; ++i)
          if (present(i)) to[quad(q) + i % 4] = from[i];
      }
    }
  }
  // As bf16, with zeros up to the stride, also of a row that is not a number: not everybody who writes there writes
  // them.
  __device__ __forceinline__ void store_bf16(uint16_t* to, int32_t stride, const float (&from)[kEach]) const {
#pragma unroll
    for (int q = 0; q < kQuads; ++q) {
      if (quad(q) >= stride) break;
      const auto value = [&](int i) { return present(q * 4 + i) ? from[q * 4 + i] : 0.0f; };
      *reinterpret_cast<uint2*>(to + quad(q)) =
          make_uint2(pack_bf16(value(0), value(1)), pack_bf16(value(2), value(3)));
    }
  }
  // As bytes, with zeros up to the stride, which is whole warps'. (A four that is not there is zeros already.)
  __device__ __forceinline__ void store_bytes(const ByteRows& to, int64_t row, const float (&from)[kEach]) const {
    FourBytes fours[kQuads];
#pragma unroll
    for (int q = 0; q < kQuads; ++q) {
      const auto value = [&](int i) { return kVector || present(q * 4 + i) ? from[q * 4 + i] : 0.0f; };
      fours[q] = FourBytes(make_float4(value(0), value(1), value(2), value(3)), to.group);
    }
#pragma unroll
    for (int q = 0; q < kQuads; ++q)
      if (quad(q) < to.stride) put_four(to, row, quad(q), fours[q]);
  }
};

template <int kThreads, int kEach>
__device__ __forceinline__ float factor_of(const float (&values)[kEach], const NormsArgs& args,
                                           float (&scratch)[kThreads / 32]) {
  float squares = 0;
#pragma unroll
  for (int i = 0; i < kEach; ++i) squares = fmaf(values[i], values[i], squares);
  // What the sum is multiplied with is known before it.
  const float part = __fdiv_rn(1.0f, static_cast<float>(args.width));
  return rsqrtf(fmaf(block_sum<kThreads>(squares, scratch), part, args.eps));
}

// Some of a row's ranks: the slots of their experts, and their shares. Read past the first-level cache, since
// the kernel in front may not have ended.
template <int kRanks>
struct Ranks {
  int32_t slot[kRanks];
  float share[kRanks];

  // From this rank on; the last one instead of those that are not there.
  __device__ __forceinline__ void read(const NormsArgs& args, int64_t row, int32_t base) {
#pragma unroll
    for (int r = 0; r < kRanks; ++r) {
      const int64_t at = row * args.mixed.top + min(base + r, args.mixed.top - 1);
      slot[r] = __ldcg(args.mixed.slot_of + at);
      share[r] = __ldcg(args.mixed.share + at);
    }
  }
};

// A row of the branch of a layer with experts, from both of its halves. The first ranks are read already.
template <int kThreads, int kRanks, class Cols, int kEach = Cols::kEach>
__device__ __forceinline__ void mix_row(const NormsArgs& args, const Cols& columns, int64_t row, Ranks<kRanks>& ranks,
                                        const float (&dense_weights)[kEach], const float (&expert_weights)[kEach],
                                        float (&branch)[kEach], float (*scratch)[kThreads / 32]) {
  float mixed[kEach] = {};
  for (int32_t base = 0; base < args.mixed.top; base += kRanks) {
    float from[kRanks][kEach];
    if (base > 0) ranks.read(args, row, base);
#pragma unroll
    for (int r = 0; r < kRanks; ++r)
      columns.load(args.mixed.slots + static_cast<int64_t>(ranks.slot[r]) * args.width, 0.0f, from[r]);
#pragma unroll
    for (int r = 0; r < kRanks; ++r)
      if (base + r < args.mixed.top)
#pragma unroll
        for (int i = 0; i < kEach; ++i) mixed[i] = fmaf(from[r][i], ranks.share[r], mixed[i]);
  }
  const float factor = args.mixed.dense_weight == nullptr ? 1.0f : factor_of<kThreads>(branch, args, scratch[0]);
  const float mixed_factor = args.mixed.expert_weight == nullptr ? 1.0f : factor_of<kThreads>(mixed, args, scratch[1]);
#pragma unroll
  for (int i = 0; i < kEach; ++i)
    branch[i] = branch[i] * factor * dense_weights[i] + mixed[i] * mixed_factor * expert_weights[i];
}

// x's row, and the row of the branch from where the product in front leaves it, without waiting for that kernel's end.
// Such a product lets this kernel start when whatever was in front of it has ended: so nothing older lies there, and x
// is what it has to be, though only past the first-level cache. The product's blocks have read all of their rows before
// they leave anything: once a row is complete, whatever the product reads may be overwritten.
template <class Cols, int kEach = Cols::kEach>
__device__ __forceinline__ void take_rows(const NormsArgs& args, const Cols& columns, int64_t row,
                                          float (&branch)[kEach], float (&values)[kEach]) {
  columns.look_at(args.x + row * args.width, values);
  const float* left = args.left + row * args.width;
  Patience patience;
  for (bool there = false; !there;) {
    columns.look_at(left, branch);
    there = true;
#pragma unroll
    for (int i = 0; i < kEach; ++i) there = there && is_there(branch[i]);
    if (!there) patience.rest();
  }
}

// kMixture: what only layers with experts need.
template <int kThreads, int kQuads, bool kVector, bool kMixture>
__global__ void __launch_bounds__(kThreads) norms_kernel(const __grid_constant__ NormsArgs args) {
  using Cols = Columns<kThreads, kQuads, kVector>;
  constexpr int kTo = kMixture ? kMaxNormsTo : 1, kEach = Cols::kEach;
  __shared__ float scratch[kMixture ? 4 : 2][kThreads / 32];
  let_next_start();
  const Cols columns{args.width};
  const int64_t row = blockIdx.x;
  float* x_row = args.x + row * args.width;
  float values[kEach], branch[kEach], weights[kTo][kEach], branch_weights[kEach];
  float dense_weights[kEach], expert_weights[kEach];
  // Weights do not depend on the kernel in front.
#pragma unroll
  for (int k = 0; k < kTo; ++k) columns.load(k < args.count ? args.to[k].weight : nullptr, 1.0f, weights[k]);
  columns.load(args.branch_weight, 1.0f, branch_weights);
  // As many ranks at once as there are registers for.
  Ranks<kEach <= 4 || kThreads <= 384 ? 8 : 2> ranks;
  const bool mixes = kMixture && args.mixed.slots != nullptr;
  if (kMixture) {
    columns.load(args.mixed.dense_weight, 1.0f, dense_weights);
    columns.load(args.mixed.expert_weight, 1.0f, expert_weights);
    if (mixes && args.mixed.known) ranks.read(args, row, 0);
  }
  if (args.left != nullptr) {
    take_rows(args, columns, row, branch, values);
  } else {
    wait_for_previous();
    columns.load(x_row, 0.0f, values);
    columns.load(args.branch != nullptr ? args.branch + row * args.width : nullptr, 0.0f, branch);
  }
  if (args.branch != nullptr) {
    if (mixes) {
      if (!args.mixed.known) ranks.read(args, row, 0);
      mix_row<kThreads>(args, columns, row, ranks, dense_weights, expert_weights, branch, scratch + 2);
    }
    const float factor = args.branch_weight == nullptr ? 1.0f : factor_of<kThreads>(branch, args, scratch[0]);
#pragma unroll
    for (int i = 0; i < kEach; ++i)
      values[i] = (values[i] + branch[i] * factor * branch_weights[i]) * args.branch_scale;
    columns.store(x_row, values);
    if (args.x_bf16 != nullptr) columns.store_bf16(args.x_bf16 + row * args.y_stride, args.y_stride, values);
  }
  if (args.count > 0) {
    const float base = factor_of<kThreads>(values, args, scratch[1]);
#pragma unroll
    for (int k = 0; k < kTo; ++k) {
      if (k >= args.count) break;
      const NormTo& to = args.to[k];
      const float factor = base * to.scale;
      float y[kEach];
#pragma unroll
      for (int i = 0; i < kEach; ++i) y[i] = values[i] * factor * weights[k][i];
      // What products read comes first.
      if (to.y_bf16 != nullptr) columns.store_bf16(to.y_bf16 + row * args.y_stride, args.y_stride, y);
      if (to.y_bytes.values != nullptr) columns.store_bytes(to.y_bytes, row, y);
      columns.store(to.y + row * args.width, y);
    }
  }
  if (args.left == nullptr) return;
  // What was taken is taken away. The end of this kernel is that of the product, too, for whoever comes behind.
  columns.take_away(args.left + row * args.width);
  wait_for_previous();
}

template <int kThreads, int kQuads, bool kVector>
void start(const NormsArgs& args, Stream stream) {
  const bool mixture = args.mixed.slots != nullptr || args.count > 1;
  launch(mixture ? norms_kernel<kThreads, kQuads, kVector, true> : norms_kernel<kThreads, kQuads, kVector, false>,
         dim3(static_cast<unsigned>(args.rows)), dim3(kThreads), 0, stream, true, args);
}

template <int kThreads, int kQuads>
void start(const NormsArgs& args, bool vector, Stream stream) {
  vector ? start<kThreads, kQuads, true>(args, stream) : start<kThreads, kQuads, false>(args, stream);
}

// Whether four columns of all rows and weights are one load.
bool in_fours(const NormsArgs& args) {
  const auto fits = [](const void* p) { return reinterpret_cast<uintptr_t>(p) % 16 == 0; };
  bool all = args.width % 4 == 0 && fits(args.x) && fits(args.branch) && fits(args.left) && fits(args.branch_weight) &&
             fits(args.mixed.slots) && fits(args.mixed.dense_weight) && fits(args.mixed.expert_weight);
  for (int32_t k = 0; k < args.count; ++k) all = all && fits(args.to[k].weight) && fits(args.to[k].y);
  return all;
}

}  // namespace

void norms(const NormsArgs& args, Stream stream) {
  // With what rows are padded to.
  const int32_t width = round_up(args.width, kStepK);
  const bool vector = in_fours(args);
  if (width <= 256)
    start<64, 1>(args, vector, stream);
  else if (width <= 1024)
    start<256, 1>(args, vector, stream);
  else if (width <= 2048)
    start<512, 1>(args, vector, stream);
  else if (width <= 3072)
    start<384, 2>(args, vector, stream);
  else if (width <= 4096)
    start<512, 2>(args, vector, stream);
  else if (width <= 5632)
    start<704, 2>(args, vector, stream);
  else
    start<1024, 2>(args, vector, stream);
}

}  // namespace paceline::kernels::cuda
