// Matrix products of some rows, on the tensor cores: more than a narrow kernel's, and too few for arithmetic to be all
// that counts.
//
//   y [rows, n] = W [n, k] x [rows, k], bf16
// One block stands on every multiprocessor and takes one piece of work after another: 128 outputs (gated: 64 of gate
// and the same 64 of up), 16 to 128 rows, and all parts of K or a group of them. A warpgroup of it does nothing but ask
// for weights and rows, which pass through a ring in shared memory, 64 columns a slot, and it goes on to the next piece
// while the two others write out what they have: the memory is never left waiting. Weights are asked for before the
// kernel in front has ended. They go from the ring into registers in the order they are packed in; rows lie as the
// tensor cores take them. A part's sums are added to the total as narrow kernels add them: a row's bits are the same.
// More than 64 rows come as one tile that one thread asks for, those of experts and up to 64 in copies of 16 bytes.
//
// Where pieces would not fill the multiprocessors, parts of K are dealt out in groups. Each leaves its sums, and
// whoever is last adds them all up, in the order of the parts.
//
// Bound: bytes of weights over memory bandwidth, and behind it what the second cache gives, rows included. Share of the
// memory's reached on an H200, 12B's gate and up: 94 % with 32 rows, 88 % with 64, 79 % with 128 (72 before rows
// came as tiles, and half of it beside others in a server's step; not measured there since). Pairs of blocks that share their rows (a cluster, with multicast) were 5 % faster
// with 128 rows and 5 % slower with fewer, while a unit's sums were added up slowly.
#include <algorithm>
#include <type_traits>

#include "kernels/cuda/bulk_copy.cuh"
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/matmul.h"
#include "kernels/cuda/row_tiles.cuh"
#include "kernels/cuda/warpgroup.cuh"
#include "kernels/cuda/wide_place.cuh"

namespace paceline::kernels::cuda {
namespace {

constexpr int kConsumers = 256, kProducers = 128, kThreads = kConsumers + kProducers;
constexpr int kOutputs = 128;
constexpr int kTiles = kOutputs / kTileOutputs;
constexpr int kTileBytes = kTileOutputs * kBlockK * 2;  // of a slot
constexpr int kOutStride = kOutputs + 4;
constexpr int kMostStages = 12;
constexpr int kMostGroups = 8;
constexpr int kMostCopiedRows = 64;  // 128 rows as tiles: 0.86 of the time of copies; 64: as long; 32: 1.03
constexpr int kMostShared = 232448 - 512;  // without barriers

// How a block of so many rows uses its shared memory: slots of the ring, each weights and then rows, and behind them
// what outputs pass through, half of 128 rows at a time.
template <int kRows>
struct Room {
  static constexpr int kOutRows = kRows <= 64 ? kRows : kRows / 2;
  static constexpr int kWeights = kTiles * kTileBytes, kStage = kWeights + kRows * kBlockK * 2;
  static constexpr int kSums = kOutRows * kOutStride * 4;
  static constexpr int kFit = (kMostShared - 1024 - kSums) / kStage;
  static constexpr int kStages = kFit < kMostStages ? kFit : kMostStages;
  static constexpr int kBytes = 1024 + kStages * kStage + kSums;
  static_assert(kStage % 1024 == 0 && kStages >= 4);
};

// Where rows come from, other than tiles.
struct NoTiles {
  int32_t filler = 0;
};

// How pieces are dealt out. The first `whole` blocks of outputs have all of K, others `groups` groups of parts, which
// leave at most so many `places` of sums in all.
struct Deal {
  int32_t row_blocks = 1, whole = 0, groups = 1, places = 0;

  [[nodiscard]] PACELINE_BOTH int32_t pieces(int32_t blocks) const {
    return row_blocks * (whole + (blocks - whole) * groups);
  }
};

PACELINE_BOTH constexpr int32_t parts_of_first(const Weight& w, int32_t groups) { return ceil_div(w.parts(), groups); }

#if PACELINE_WARPGROUPS

// What a piece of work is of.
template <int kRows>
struct Piece {
  WidePlace at;
  int32_t group, groups, left;  // which group of parts, of how many; where sums are left
  int32_t begin, end, part;     // in blocks of K

  __device__ __forceinline__ bool find(const MatmulArgs& args, const Deal& deal, int32_t number) {
    const int32_t whole = deal.whole * deal.row_blocks, split = number - whole;
    const bool all = split < 0;
    groups = all ? 1 : deal.groups;
    group = all ? 0 : split % deal.groups;
    left = all ? 0 : split / deal.groups;
    const int32_t unit = all ? number : whole + split / deal.groups;
    if (!at.find(args, kRows, unit % deal.row_blocks, unit / deal.row_blocks)) return false;
    const Weight& w = at.product->weight;
    part = w.part;
    begin = group * parts_of_first(w, groups) * part;
    end = min(w.depth() / kBlockK, begin + parts_of_first(w, groups) * part);
    return true;
  }
};

// Those who use what the ring brings, and nobody else.
__device__ __forceinline__ void meet_consumers() { asm volatile("bar.sync 1, %0;" ::"n"(kConsumers) : "memory"); }

// Where a thread of either kind stands in the ring.
template <int kStages>
struct Turn {
  int32_t slot = 0;
  uint32_t phase = 0;

  __device__ __forceinline__ void next() {
    if (++slot < kStages) return;
    slot = 0;
    phase ^= 1;
  }
};

// A tile's stretch of the matrix, for the lane that asks for it; none: there is no such tile.
__device__ __forceinline__ const char* tile_stream(const WidePlace& at, int32_t tile_here) {
  const bool gated = at.product->gated();
  const Weight& w = gated && tile_here >= kTiles / 2 ? at.product->up : at.product->weight;
  const int32_t tile = gated ? at.unit * (kTiles / 2) + tile_here % (kTiles / 2) : at.unit * kTiles + tile_here;
  if (tile >= w.tiles()) return nullptr;
  return static_cast<const char*>(w.values) + static_cast<int64_t>(at.expert) * w.stride +
         static_cast<int64_t>(tile) * (w.depth() / kBlockK) * kTileBytes;
}

template <int kRows, class Tiles>
class Producer {
  using R = Room<kRows>;
  using P = Piece<kRows>;
  static constexpr int kApart = kProducers / 8, kEach = kRows / kApart;  // eight threads copy a row of every slot
  static_assert(kEach >= 1);

 public:
  static constexpr bool kTiled = !std::is_same_v<Tiles, NoTiles>;
  // Arrivals at the barrier of a slot that is filled.
  static constexpr int kArrivals = kTiles + (kTiled ? 1 : kProducers);

  __device__ __forceinline__ Producer(const MatmulArgs& args, const Tiles& tiles, uint32_t ring, uint32_t full,
                                      uint32_t empty)
      : args_(args), tiles_(tiles), ring_(ring), full_(full), empty_(empty), policy_(once_policy()) {}

  // Weights of the first slots: they do not depend on the kernel in front.
  __device__ __forceinline__ void begin(const P& piece) {
    if (thread_ >= kTiles) return;
    const char* from = tile_stream(piece.at, thread_);
    early_ = min(R::kStages, piece.end - piece.begin);
    for (int32_t i = 0; i < early_; ++i) ask_weights(from, piece.begin + i, i);
  }

  __device__ __forceinline__ void take(const P& piece) {
    if constexpr (kTiled)
      take_tiles(piece);
    else
      take_rows(piece);
  }

 private:
  // The lanes that ask for weights, and one more: they stay together. Where rows were asked for by another warp, which
  // ran ahead, launches behind each other stood still on an H200; why was not found.
  __device__ __forceinline__ void take_tiles(const P& piece) {
    if (thread_ > kTiles) return;
    const char* stream = thread_ < kTiles ? tile_stream(piece.at, thread_) : nullptr;
    for (int32_t block = piece.begin; block < piece.end; ++block) {
      __syncwarp((1u << (kTiles + 1)) - 1);
      wait_barrier(empty_ + turn_.slot * 8, turn_.phase ^ 1);
      if (thread_ < kTiles) {
        weigh_in(stream, block);
      } else {
        expect_bytes(full_ + turn_.slot * 8, kRows * kBlockK * 2);
        copy_tile(ring_ + turn_.slot * R::kStage + R::kWeights, tiles_, block * kBlockK, piece.at.row_base,
                  full_ + turn_.slot * 8);
      }
      turn_.next();
    }
  }

  __device__ __forceinline__ void take_rows(const P& piece) {
    const char* stream = thread_ < kTiles ? tile_stream(piece.at, thread_) : nullptr;
    const int32_t row = thread_ / 8, chunk = thread_ % 8;
    const char* from = static_cast<const char*>(args_.x.values) + chunk * 16;
    uint32_t offset[kEach], has = 0;
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int32_t source = piece.at.row_number(args_, piece.at.row_base + row + i * kApart);
      offset[i] = source >= 0 ? static_cast<uint32_t>(source) * static_cast<uint32_t>(args_.x.stride / 8) : 0u;
      has |= source >= 0 ? 1u << i : 0u;
    }
    // Rows 16 apart have the same place in their group of eight, and so the same swizzle.
    const uint32_t to = ring_ + R::kWeights + row * 128 + ((chunk ^ (row & 7)) << 4);
    for (int32_t block = piece.begin; block < piece.end; ++block) {
      wait_barrier(empty_ + turn_.slot * 8, turn_.phase ^ 1);
      if (thread_ < kTiles) weigh_in(stream, block);
#pragma unroll
      for (int i = 0; i < kEach; ++i)
        copy16_async(to + turn_.slot * R::kStage + i * kApart * 128,
                     from + (static_cast<uint64_t>(offset[i]) << 4) + static_cast<int64_t>(block) * 128,
                     (has >> i & 1u) != 0);
      asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(full_ + turn_.slot * 8) : "memory");
      turn_.next();
    }
  }

  // Unless that was done before.
  __device__ __forceinline__ void weigh_in(const char* stream, int32_t block) {
    if (early_ > 0)
      --early_;
    else
      ask_weights(stream, block, turn_.slot);
  }
  __device__ __forceinline__ void ask_weights(const char* stream, int32_t block, int32_t slot) const {
    const uint32_t barrier = full_ + slot * 8;
    expect_bytes(barrier, stream != nullptr ? kTileBytes : 0);
    if (stream != nullptr)
      copy_bulk(ring_ + slot * R::kStage + thread_ * kTileBytes, stream + static_cast<int64_t>(block) * kTileBytes,
                kTileBytes, barrier, policy_);
  }

  const MatmulArgs& args_;
  const Tiles& tiles_;
  uint32_t ring_, full_, empty_;
  uint64_t policy_;
  Turn<R::kStages> turn_;
  int32_t early_ = 0;
  const int32_t thread_ = static_cast<int32_t>(threadIdx.x) - kConsumers;
};

template <int kRows, bool kTiled>
class Consumer {
  using R = Room<kRows>;
  using P = Piece<kRows>;
  static constexpr int kFloats = kRows / 2, kPlaceFloats = kFloats * kConsumers;

 public:
  // Arrivals at the barrier of a slot that may be filled again.
  static constexpr int kArrivals = kConsumers / 32;

  __device__ __forceinline__ Consumer(const MatmulArgs& args, uint32_t ring, uint32_t full, uint32_t empty, float* sums)
      : args_(args), ring_(ring), full_(full), empty_(empty), sums_(sums) {}

  __device__ __forceinline__ void take(const P& piece, int32_t places) {
    float acc[kFloats], total[kFloats];
#pragma unroll
    for (int k = 0; k < kFloats; ++k) total[k] = 0;
    // Each thread's own: [place][float4][thread]. The first place has the total of the first group's parts, the others
    // a part each.
    float* const left = args_.counted + static_cast<int64_t>(piece.left) * places * kPlaceFloats;
    const int32_t of_first = parts_of_first(piece.at.product->weight, piece.groups);
    for (int32_t from = piece.begin; from < piece.end; from += piece.part) {
      multiply_part(acc, min(piece.end, from + piece.part) - from);
      if (piece.group == 0) {
#pragma unroll
        for (int k = 0; k < kFloats; ++k) total[k] += acc[k];
      } else {
        leave_sums(acc, left + static_cast<int64_t>(1 + from / piece.part - of_first) * kPlaceFloats);
      }
    }
    if (piece.groups == 1) return write(piece.at, total);
    if (piece.group == 0) leave_sums(total, left);
    put_together(piece, left, 1 + piece.at.product->weight.parts() - of_first);
  }

 private:
  // So many blocks of K, from nothing.
  __device__ __forceinline__ void multiply_part(float (&acc)[kFloats], int32_t blocks) {
    const uint32_t weights = ring_ + threadIdx.x / 32 * kTileBytes + lane_ * 16;
    int32_t before = 0;
    // A block's products run while the next one's weights go into registers: two sets of them, by turns.
    const auto multiply = [&](uint4(&a)[4], int32_t i) {
      const uint32_t slot = turn_.slot * R::kStage;
      wait_barrier(full_ + turn_.slot * 8, turn_.phase);
      if constexpr (!kTiled) show_copies_to_tensor_cores();
#pragma unroll
      for (int k = 0; k < 4; ++k) a[k] = shared_four(weights + slot + k * 512);
      warpgroup_fence();
#pragma unroll
      for (int k = 0; k < 4; ++k)
        warpgroup_mma(acc, a[k], describe(ring_ + slot + R::kWeights + k * 32), k == 0 && i == 0 ? 0 : 1);
      warpgroup_commit();
      warpgroup_wait<1>();
      if (i > 0 && lane_ == 0) arrive(empty_ + before * 8);
      before = turn_.slot;
      turn_.next();
    };
    uint4 even[4], odd[4];
    int32_t i = 0;
    for (; i + 1 < blocks; i += 2) {
      multiply(even, i);
      multiply(odd, i + 1);
    }
    warpgroup_wait<0>();
    if (i < blocks) multiply(even, i);
    warpgroup_wait<0>();
    if (lane_ == 0) arrive(empty_ + before * 8);
  }

  __device__ __forceinline__ void leave_sums(const float (&sums)[kFloats], float* place) const {
#pragma unroll
    for (int i = 0; i < kFloats / 4; ++i)
      __stcg(reinterpret_cast<float4*>(place) + i * kConsumers + threadIdx.x,
             make_float4(sums[i * 4], sums[i * 4 + 1], sums[i * 4 + 2], sums[i * 4 + 3]));
  }

  // Whether this block is the last of its unit's; then all that the others left is there. Nobody waits for anybody.
  __device__ __forceinline__ bool arrives_last(const P& piece) const {
    __shared__ int32_t came;
    __threadfence();
    meet_consumers();
    if (threadIdx.x == 0) {
      came = atomicAdd(args_.arrivals + piece.left, 1);
      if (came == piece.groups - 1) args_.arrivals[piece.left] = 0;
    }
    meet_consumers();
    __threadfence();
    return came == piece.groups - 1;
  }

  __device__ __forceinline__ void put_together(const P& piece, const float* left, int32_t count) {
    if (!arrives_last(piece)) return;
    constexpr int32_t kEighths = R::kOutRows / 8;
    WidePlace at = piece.at;
#pragma unroll 1
    for (int32_t half = 0; half < kRows / R::kOutRows; ++half) {
      const float4* from = reinterpret_cast<const float4*>(left) + half * kEighths * kConsumers + threadIdx.x;
      float sum[kEighths][4] = {};
      // All that a place has of these rows is asked for together, and that of the next one with it: one trip to the
      // cache after another would take longer than the products.
#pragma unroll 4
      for (int32_t i = 0; i < count; ++i) {
#pragma unroll
        for (int32_t j = 0; j < kEighths; ++j) {
          const float4 t = __ldcg(from + static_cast<int64_t>(i) * (kPlaceFloats / 4) + j * kConsumers);
          sum[j][0] += t.x;
          sum[j][1] += t.y;
          sum[j][2] += t.z;
          sum[j][3] += t.w;
        }
      }
#pragma unroll
      for (int32_t j = 0; j < kEighths; ++j) put(sum[j], j);
      meet_consumers();
      write_put(at);
      at.row_base += R::kOutRows;
    }
  }

  // Sums of eight rows into shared memory, and from there to where they belong.
  __device__ __forceinline__ void put(const float* four, int32_t eighth) {
    const int tile = threadIdx.x / 32, g = lane_ / 4, t = lane_ % 4;
#pragma unroll
    for (int i = 0; i < 4; ++i)
      sums_[(eighth * 8 + t * 2 + i % 2) * kOutStride + tile * kTileOutputs + g + i / 2 * 8] = four[i];
  }
  __device__ __forceinline__ void write_put(const WidePlace& at) {
    if (at.product->gated())
      write_rows<kConsumers, R::kOutRows, kOutputs / 2, kOutStride, kOutputs / 2>(at, sums_);
    else
      write_rows<kConsumers, R::kOutRows, kOutputs, kOutStride, 0>(at, sums_);
    // Nobody puts anything there before all have written.
    meet_consumers();
  }
  __device__ __forceinline__ void write(WidePlace at, const float (&total)[kFloats]) {
#pragma unroll
    for (int half = 0; half < kRows / R::kOutRows; ++half) {
#pragma unroll
      for (int j = 0; j < R::kOutRows / 8; ++j) put(total + (half * R::kOutRows / 8 + j) * 4, j);
      meet_consumers();
      write_put(at);
      at.row_base += R::kOutRows;
    }
  }

  const MatmulArgs& args_;
  uint32_t ring_, full_, empty_;
  float* sums_;
  Turn<R::kStages> turn_;
  const int lane_ = static_cast<int>(threadIdx.x % 32);
};

#endif

template <int kRows, class Tiles>
__global__ void __launch_bounds__(kThreads, 1)
    ring_bf16(const __grid_constant__ MatmulArgs args, const __grid_constant__ Deal deal,
              const __grid_constant__ Tiles tiles) {
#if PACELINE_WARPGROUPS
  using R = Room<kRows>;
  using Asking = Producer<kRows, Tiles>;
  using Using = Consumer<kRows, Asking::kTiled>;
  extern __shared__ char raw[];
  __shared__ uint64_t full[R::kStages], empty[R::kStages];
  const uint32_t skip = (shared_address(raw) + 1023) / 1024 * 1024 - shared_address(raw);
  const uint32_t ring = shared_address(raw) + skip;
  if (threadIdx.x == 0) {
    for (int i = 0; i < R::kStages; ++i) {
      init_barrier(shared_address(full + i), Asking::kArrivals);
      init_barrier(shared_address(empty + i), Using::kArrivals);
    }
    show_barriers();
  }
  __syncthreads();
  const int32_t pieces = deal.pieces(args.blocks);
  const auto first = static_cast<int32_t>(blockIdx.x), step = static_cast<int32_t>(gridDim.x);
  Piece<kRows> piece;
  let_next_start();
  if (threadIdx.x >= kConsumers) {
    give_registers<56>();
    Asking producer(args, tiles, ring, shared_address(full), shared_address(empty));
    if (args.experts.plan == nullptr && piece.find(args, deal, first)) producer.begin(piece);
    wait_for_previous();
    for (int32_t i = first; i < pieces; i += step)
      if (piece.find(args, deal, i)) producer.take(piece);
    // Nobody leaves while copies are on their way.
    wait_copies<0>();
  } else {
    take_registers<224>();
    Using consumer(args, ring, shared_address(full), shared_address(empty),
                   reinterpret_cast<float*>(raw + skip + R::kStages * R::kStage));
    wait_for_previous();
    for (int32_t i = first; i < pieces; i += step)
      if (piece.find(args, deal, i)) consumer.take(piece, deal.places);
  }
#endif
}

// Of all products of a launch: places for sums that a unit may need, and blocks of K that a piece has.
int32_t most_places(const MatmulArgs& args, int32_t groups) {
  int32_t most = 1;
  for (int32_t i = 0; i < args.count; ++i) {
    const Weight& w = args.out[i].weight;
    most = std::max(most, 1 + w.parts() - parts_of_first(w, groups));
  }
  return most;
}
int32_t longest_piece(const MatmulArgs& args, int32_t groups) {
  int32_t longest = 0;
  for (int32_t i = 0; i < args.count; ++i) {
    const Weight& w = args.out[i].weight;
    longest = std::max(longest, std::min(w.depth() / kBlockK, parts_of_first(w, groups) * w.part));
  }
  return longest;
}
// Whether every group has a part.
bool can_group(const MatmulArgs& args, int32_t groups) {
  for (int32_t i = 0; i < args.count; ++i) {
    const Weight& w = args.out[i].weight;
    if (ceil_div(w.parts(), parts_of_first(w, groups)) != groups) return false;
  }
  return true;
}

// The deal that is through first. A piece costs its blocks of K and some more at its end, most where it leaves sums.
Deal deal_for(const MatmulArgs& args, int32_t rows, int32_t row_blocks) {
  if (args.experts.plan != nullptr) return {row_blocks, args.blocks, 1, 0};
  constexpr int64_t kEnd = 2, kLeave = 4, kMeet = 6;
  const int64_t blocks = args.blocks, at_once = multiprocessors();
  Deal best;
  int64_t best_cost = INT64_MAX;
  const auto consider = [&](int64_t whole, int32_t groups) {
    const int64_t rest = (blocks - whole) * row_blocks;
    const int32_t places = groups > 1 ? most_places(args, groups) : 0;
    if (rest * places * rows * kOutputs > static_cast<int64_t>(kCountedFloats) || rest > kMaxArrivals) return;
    const auto rounds = [&](int64_t pieces) { return (pieces + at_once - 1) / at_once; };
    const int64_t cost = rounds(whole * row_blocks) * (longest_piece(args, 1) + kEnd) +
                         rounds(rest * groups) * (longest_piece(args, groups) + (groups > 1 ? kLeave : kEnd)) +
                         (groups > 1 ? kMeet : 0);
    if (cost >= best_cost) return;
    best = {row_blocks, static_cast<int32_t>(groups == 1 ? blocks : whole), groups, places};
    best_cost = cost;
  };
  const int64_t full_rounds = blocks * row_blocks / at_once;
  for (int32_t groups = 1; groups <= kMostGroups; ++groups) {
    if (!can_group(args, groups)) continue;
    consider(0, groups);
    if (full_rounds > 0) consider(full_rounds * at_once / row_blocks, groups);
  }
  return best;
}

template <int kRows>
void start(const MatmulArgs& args, Stream stream) {
  const Deal deal = deal_for(args, kRows, row_blocks(args, kRows));
  const int32_t places = std::min(deal.pieces(args.blocks), multiprocessors());
  const auto run = [&](auto kernel, const auto& tiles) {
    launch(kernel, dim3(static_cast<unsigned>(places)), dim3(kThreads), Room<kRows>::kBytes, stream, true, args, deal,
           tiles);
  };
  if constexpr (kRows > kMostCopiedRows)
    if (args.experts.plan == nullptr)
      if (const auto tiles = row_tiles(args.x, args.rows, kRows)) return run(ring_bf16<kRows, CUtensorMap>, *tiles);
  run(ring_bf16<kRows, NoTiles>, NoTiles());
}

}  // namespace

void matmul_ring(MatmulArgs args, Stream stream) {
  lay_out(args, kOutputs);
  // Of all rows, an expert gets a few.
  int32_t rows = args.rows;
  if (args.experts.plan != nullptr) rows = ceil_div(args.experts.slots * 9 / 8, args.experts.most_touched);
  if (rows <= 16)
    start<16>(args, stream);
  else if (rows <= 32)
    start<32>(args, stream);
  else if (rows <= 64)
    start<64>(args, stream);
  else if (rows <= 96)
    start<96>(args, stream);
  else if (rows <= 112)
    start<112>(args, stream);
  else
    start<128>(args, stream);
}

}  // namespace paceline::kernels::cuda
