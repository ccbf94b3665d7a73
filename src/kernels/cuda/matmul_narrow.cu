// Products of few rows with bf16 weights, or with such that become bf16 on their way; the latter of any number of rows.
// Weights are the fixed operand of the tensor cores and rows the narrow one (8
// at a time). However many rows there are, weights are read once; with more than two tiles of rows that is no longer
// all that counts.
//
// Bound: bytes of weights over memory bandwidth. Share reached on an H200, 31B's shapes, 1 row (8 rows): 88 to 100 %
// (85 to 97 %); the output's product, which is read once, 98 % (98 %). What is missing is where launches meet: the last
// sums, and the rows that the next one waits for.
#include <algorithm>

#include "base/check.h"
#include "kernels/cuda/matmul_narrow.cuh"
#include "kernels/cuda/narrow_chunks.cuh"
#include "kernels/cuda/weight_ring.cuh"

namespace paceline::kernels::cuda {
namespace narrow {
namespace {

constexpr int kRowBuffers = 3;
// A slot is so many of a tile's blocks of K: a multiprocessor asks for copies one at a time, and small ones take as long
// as large ones.
template <class Chunk, int kSpan>
using Ring = WeightRing<kSpan * chunk_bytes(Chunk::kFormat)>;

// How a block uses its shared memory: rings of all warps, so many bytes, then so many columns of so many rows, several
// times. With more than two tiles there is room for whole pairs of them.
struct Staging {
  int32_t slots = 0, ring_bytes = 0, columns = 0, rows = 0;

  PACELINE_BOTH int32_t stride() const { return columns * 2 + 16; }
  PACELINE_BOTH int32_t rows_bytes() const { return rows * stride(); }
};

constexpr int32_t kChunkSteps = kBlockK / 16;

template <class Chunk, int kSpan, int kTiles>
__global__ void __launch_bounds__(kThreads, 4)
    narrow_bf16(const __grid_constant__ MatmulArgs args, const __grid_constant__ Staging staging) {
  constexpr int kRows = kTiles * 8;
  extern __shared__ __align__(128) char shared[];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  Unit u;
  find_unit(args, kRows, u);
  const bool stack = args.experts.plan != nullptr && !u.product->dense;
  // A plan that the kernel in front makes: whoever comes behind this one may then take it as known.
  const bool plans = args.experts.plan != nullptr && !args.experts.known;
  // And what is left for the next one, that one alone may find.
  const bool leaves = u.product->left != nullptr;
  if (!plans && !leaves) let_next_start();
  if (stack) {
    if (plans) {
      wait_for_previous();
      let_next_start();
    }
    if (!find_expert(args, u)) return;
  }
  if (u.row_base >= u.rows) return;
  const Weight& w = u.product->weight;
  constexpr int32_t kChunk = chunk_bytes(Chunk::kFormat);
  const Tile tile = find_tile(u, warp, kChunk);
  __shared__ uint64_t row_barriers[kRowBuffers];
  FilledBuffers<kRowBuffers> buffers(row_barriers);
  // In blocks of K.
  const int32_t begin = u.part * w.part, end = min(w.depth() / kBlockK, begin + u.parts_here * w.part);
  __shared__ typename Ring<Chunk, kSpan>::Beginning beginning;
  Ring<Chunk, kSpan> ring(shared_address(shared), staging.slots, tile.values + static_cast<int64_t>(begin) * kChunk,
                          (end - begin) / kSpan, tile.present, beginning);
  const int32_t rows_here = min(staging.rows, u.rows - u.row_base), span = staging.columns / kBlockK;
  const auto stage = [&](int32_t from, int32_t buffer) {
    stage_rows(args, u, from < end ? rows_here : 0, from * kBlockK * 2, (min(end, from + span) - from) * kBlockK * 2,
               shared_address(shared) + staging.ring_bytes + buffer * staging.rows_bytes(), staging.stride(),
               buffers.barrier(buffer));
  };
  // A row that is not there is read from the last one's place, or as it is: the tensor cores' columns do not mix, and
  // its sums are never written out.
  [[maybe_unused]] int32_t row_at[kTiles];
#pragma unroll
  for (int j = 0; j < kTiles; ++j) row_at[j] = min(j * 8 + g, staging.rows - 1) * staging.stride() + t * 4;
  [[maybe_unused]] const int32_t pair_at = (lane / 16 * 8 + lane % 8) * staging.stride() + lane / 8 % 2 * 16;
  float total[kTiles][4] = {}, acc[kTiles][4] = {};
  int32_t border = begin + w.part;
  ring.fill(beginning, stack || blockIdx.x >= kPlaces, [&] {
    if ((!stack && plans) || leaves) let_next_start();
#pragma unroll
    for (int ahead = 0; ahead < kRowBuffers - 1; ++ahead) stage(begin + ahead * span, ahead);
  });
  for (int32_t from = begin; from < end; from += span) {
    const int32_t buffer = buffers.next();
    // All have done with the one in front of it, too.
    __syncthreads();
    stage(from + (kRowBuffers - 1) * span, buffer == 0 ? kRowBuffers - 1 : buffer - 1);
    const char* rows = shared + staging.ring_bytes + buffer * staging.rows_bytes();
    const int32_t to = min(end, from + span);
    for (int32_t block = from; block < to; block += kSpan) {
      const uint32_t at = ring.next();
#pragma unroll
      for (int s = 0; s < kSpan; ++s, rows += kBlockK * 2) {
        uint4 a[kChunkSteps];
        Chunk::read(lane, a, [&](int offset) { return shared_four(at + s * kChunk + offset); });
        if constexpr (kTiles <= 2) {
#pragma unroll
          for (int i = 0; i < kChunkSteps; ++i)
#pragma unroll
            for (int j = 0; j < kTiles; ++j) {
              const char* b = rows + row_at[j] + i * 32;
              mma_bf16(acc[j], a[i], *reinterpret_cast<const uint32_t*>(b), *reinterpret_cast<const uint32_t*>(b + 16));
            }
        } else {
#pragma unroll
          for (int j = 0; j < kTiles; j += 2) {
            if (j * 8 >= rows_here) break;
            const uint32_t from_rows = shared_address(rows) + pair_at + j * 8 * staging.stride();
#pragma unroll
            for (int i = 0; i < kChunkSteps; ++i) {
              uint32_t b[4];
              ldmatrix4(from_rows + i * 32, b[0], b[1], b[2], b[3]);
              mma_bf16(acc[j], a[i], b[0], b[1]);
              mma_bf16(acc[j + 1], a[i], b[2], b[3]);
            }
          }
        }
      }
      ring.done();
      // Unless a part ends.
      if (block + kSpan < border && block + kSpan < end) continue;
#pragma unroll
      for (int j = 0; j < kTiles; ++j)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          total[j][i] = border == begin + w.part ? acc[j][i] : total[j][i] + acc[j][i];
          acc[j][i] = 0;
        }
      border += w.part;
    }
  }
  // Sums take the place of the rings: every warp has had all of its own.
  __syncthreads();
  finish<kTiles>(args, u, total, reinterpret_cast<float*>(shared));
}

// Blocks of a multiprocessor, what it has for them in bytes, and what each takes besides what it asks for.
constexpr int32_t kBlocks = 4;
constexpr int32_t kShared = 228 * 1024;
constexpr int32_t kOwn = 1024 + 128;
constexpr int32_t kFewestSlots = 3, kMostSlots = 6;
// Of one buffer of rows, about: with a tile of 8 rows and with two.
constexpr int32_t kRowsBytes = 4 * 1024, kRowsBytesOfTwo = 8 * 1024;
// Chunks that a place of the device has to read. Where they are few, all rows at once count, and where they are many,
// few and large pieces of rows. In between more slots do: what a launch asks for before the one in front has ended.
constexpr int32_t kFewChunks = 8, kManyChunks = 28;

int32_t chunks_of_place(const MatmulArgs& args) {
  int32_t chunks = 0;
  for (int32_t i = 0; i < args.count; ++i) {
    const Product& p = args.out[i];
    chunks += p.units * matrices_of(args, p) * (p.weight.depth() / kBlockK);
  }
  return chunks / kPlaces;
}

template <class Chunk, int kSpan, int kTiles>
void start_tiles(const MatmulArgs& args, int32_t groups, Stream stream, bool early) {
  constexpr int32_t kRows = kTiles * 8;
  Staging staging;
  staging.rows = kTiles > 2 ? round_up(std::min(kRows, args.rows), 16) : std::min(kRows, args.rows);
  // All of what a block may have, whatever it needs: where blocks of several sizes come and go, what one leaves is too
  // small for the next.
  constexpr int32_t kBytes = kShared / kBlocks - kOwn;
  const int32_t chunks = chunks_of_place(args);
  const bool more_slots = chunks >= kFewChunks && (kTiles == 2 || chunks <= kManyChunks);
  // As many bytes on their way, whatever they hold.
  constexpr int32_t kSlot = kSpan * chunk_bytes(Chunk::kFormat);
  constexpr int32_t kMore = kSlot < 2048 ? 2048 / kSlot : 1;
  constexpr int32_t kSlots = kMore * (kTiles == 1 ? kMostSlots : kTiles == 2 ? kMostSlots - 1 : kFewestSlots);
  const int32_t room = kTiles > 2 || more_slots ? (kBytes - Ring<Chunk, kSpan>::bytes_for(kSlots)) / kRowBuffers
                                                : (kTiles == 1 ? kRowsBytes : kRowsBytesOfTwo) + staging.rows * 16;
  staging.columns = std::max(std::min((room / staging.rows - 16) / (kBlockK * 2), 16) / kSpan, 1) * kSpan * kBlockK;
  const int32_t left = kBytes - kRowBuffers * staging.rows_bytes();
  staging.slots = std::clamp(left / Ring<Chunk, kSpan>::bytes_for(1), kMore * kFewestSlots, kMore * kMostSlots);
  staging.ring_bytes = Ring<Chunk, kSpan>::bytes_for(staging.slots);
  CHECK(staging.ring_bytes + kRowBuffers * staging.rows_bytes() <= kBytes);
  launch(narrow_bf16<Chunk, kSpan, kTiles>, dim3(static_cast<unsigned>(args.blocks), static_cast<unsigned>(groups)), dim3(kThreads),
         kBytes, stream, early, args, staging);
}

template <class Chunk, int kSpan>
void start_chunks(const MatmulArgs& args, int32_t group_rows, Stream stream, bool early) {
  const int32_t groups = ceil_div(args.rows, group_rows);
  switch (group_rows) {
    case 8: start_tiles<Chunk, kSpan, 1>(args, groups, stream, early); break;
    case 16: start_tiles<Chunk, kSpan, 2>(args, groups, stream, early); break;
    // There rows take the room.
    case 32: start_tiles<Chunk, 1, 4>(args, groups, stream, early); break;
    default: start_tiles<Chunk, 1, 8>(args, groups, stream, early);
  }
}

}  // namespace
}  // namespace narrow

void matmul_narrow(MatmulArgs args, Stream stream, bool early) {
  constexpr int32_t kPlenty = 2048;
  const int32_t group_rows = args.rows <= 8 ? 8 : args.rows <= 16 ? 16 : args.rows <= 32 ? 32 : 64;
  narrow::lay_out(args, kUnitOutputs, kPlenty, group_rows);
  const Format format = args.out[0].weight.format;
  // Parts are whole numbers of four blocks, all but the last.
  bool fours = true;
  for (int32_t i = 0; i < args.count; ++i) fours = fours && args.out[i].weight.depth() % (4 * kBlockK) == 0;
  if (format == Format::f8)
    fours ? narrow::start_chunks<F8Chunk, 2>(args, group_rows, stream, early)
          : narrow::start_chunks<F8Chunk, 1>(args, group_rows, stream, early);
  else if (format == Format::f4)
    fours ? narrow::start_chunks<F4Chunk, 4>(args, group_rows, stream, early)
          : narrow::start_chunks<F4Chunk, 1>(args, group_rows, stream, early);
  else
    narrow::start_chunks<Bf16Chunk, 1>(args, group_rows, stream, early);
}

}  // namespace paceline::kernels::cuda
