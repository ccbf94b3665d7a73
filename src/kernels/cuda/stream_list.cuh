// The list of jobs of a launch of matmul_stream, and which of them a block and a warp have.
//
// A job is a tile of 16 outputs in one part of K; the list is [product][matrix][part][tile]. A gated product has the
// tiles of gate and up in turn.
#pragma once

#include "kernels/cuda/matmul.h"

namespace paceline::kernels::cuda {

inline constexpr int kQuadBytes = kBlockK * kTileOutputs * 2;  // four fragments: a warp's step
inline constexpr int kMaxSegments = 8;

// A list: products first … last - 1 of the launch, with so many matrices each.
struct List {
  int32_t first, last;
  int32_t matrices;
};

// A place in a list: in front of this tile's job.
struct Cut {
  int32_t product, matrix, part, tile;

  __device__ bool same_segment(const Cut& o) const {
    return product == o.product && matrix == o.matrix && part == o.part;
  }
};

// What a block still has to do of a list.
struct Share {
  List list;
  Cut next, end;
};

// Jobs of one part of one matrix that follow each other.
struct Segment {
  const char* gate;  // the matrix's values at the part's begin
  const char* up;    // or none: tiles are gate's alone, else in turn
  int64_t tile_bytes;
  int64_t partial;    // floats to the sums of tile 0 in this part
  int64_t part_step;  // floats from one part of a tile to the next
  int32_t first_job, jobs;
  int32_t first_tile;
  int32_t quads;       // of a job
  int32_t first_quad;  // of the part
  int32_t product, first_slot, rows;
  int32_t arrivals;  // of tile 0
};

__device__ __forceinline__ int32_t tiles_of(const Product& p) { return p.weight.tiles() * (p.gated() ? 2 : 1); }
__device__ __forceinline__ int32_t quads_of(const Product& p) { return p.weight.depth() / kBlockK; }

// The first job that begins at or behind the share of so many blocks.
__device__ inline Cut cut_behind(const MatmulArgs& args, const List& list, uint32_t blocks) {
  int32_t total = 0;
  for (int32_t i = list.first; i < list.last; ++i)
    total += tiles_of(args.out[i]) * quads_of(args.out[i]) * list.matrices;
  auto pos = static_cast<int32_t>(static_cast<int64_t>(total) * blocks / gridDim.x);
  Cut c{list.first, 0, 0, 0};
  for (; c.product < list.last; ++c.product) {
    const Product& p = args.out[c.product];
    const int32_t whole = tiles_of(p) * quads_of(p) * list.matrices;
    if (pos < whole) break;
    pos -= whole;
  }
  if (c.product == list.last) return c;
  const Product& p = args.out[c.product];
  const int32_t tiles = tiles_of(p), quads = quads_of(p), part = p.weight.part;
  c.matrix = pos / (tiles * quads);
  pos -= c.matrix * tiles * quads;
  c.part = pos / (tiles * part);
  pos -= c.part * tiles * part;
  const int32_t length = min(part, quads - c.part * part);
  c.tile = (pos + length - 1) / length;
  return c;
}

// Behind the last tile of a part comes the next part, matrix or product.
__device__ inline void settle(const MatmulArgs& args, const List& list, Cut& c) {
  if (c.product == list.last || c.tile < tiles_of(args.out[c.product])) return;
  c.tile = 0;
  if (++c.part < args.out[c.product].weight.parts()) return;
  c.part = 0;
  if (++c.matrix < list.matrices) return;
  c.matrix = 0;
  ++c.product;
}

// The block's share, by two threads that each find one end of it.
__device__ inline void find_share(const MatmulArgs& args, const List& list, Share& share) {
  if (threadIdx.x % 32 != 0 || threadIdx.x >= 64) return;
  Cut c = cut_behind(args, list, blockIdx.x + threadIdx.x / 32);
  settle(args, list, c);
  (threadIdx.x == 0 ? share.next : share.end) = c;
  if (threadIdx.x == 0) share.list = list;
}

__device__ inline Segment segment_at(const MatmulArgs& args, const Cut& c) {
  Segment s;
  const Product& p = args.out[c.product];
  const Weight& w = p.weight;
  const ExpertPlan* plan = p.dense ? nullptr : args.experts.plan;
  int64_t expert = 0, floats = 0;
  s.first_slot = 0;
  s.rows = args.rows;
  s.arrivals = 0;
  if (plan != nullptr) {
    expert = plan->expert[c.matrix];
    s.first_slot = plan->first[c.matrix];
    s.rows = plan->first[c.matrix + 1] - s.first_slot;
  }
  // Only dense products have others behind them: one matrix each.
  for (int32_t i = 0; i < c.product; ++i) {
    floats += static_cast<int64_t>(tiles_of(args.out[i])) * args.out[i].weight.parts() * kTileOutputs * args.rows;
    s.arrivals += args.out[i].weight.tiles();
  }
  s.product = c.product;
  s.first_quad = c.part * w.part;
  s.quads = min(w.part, quads_of(p) - s.first_quad);
  s.tile_bytes = static_cast<int64_t>(quads_of(p)) * kQuadBytes;
  const int64_t begin = static_cast<int64_t>(s.first_quad) * kQuadBytes;
  s.gate = static_cast<const char*>(w.values) + expert * w.stride_values + begin;
  s.up = p.gated() ? static_cast<const char*>(p.up.values) + expert * p.up.stride_values + begin : nullptr;
  s.part_step = static_cast<int64_t>(tiles_of(p)) * kTileOutputs * args.rows;
  s.partial = floats + (static_cast<int64_t>(c.matrix) * w.parts() + c.part) * s.part_step;
  s.arrivals += c.matrix * w.tiles();
  s.first_tile = c.tile;
  return s;
}

// The segments of one round.
struct Round {
  Segment segments[kMaxSegments];
  int32_t count, jobs;
};

// As many more segments of the share as there is room for; one thread's work.
__device__ inline void append(const MatmulArgs& args, Share& share, Round& round, int32_t room) {
  Cut c = share.next;
  const Cut& end = share.end;
  while (round.count < room && !(c.same_segment(end) && c.tile == end.tile)) {
    Segment s = segment_at(args, c);
    s.first_job = round.jobs;
    s.jobs = (c.same_segment(end) ? end.tile : tiles_of(args.out[c.product])) - c.tile;
    round.segments[round.count++] = s;
    round.jobs += s.jobs;
    c.tile += s.jobs;
    if (!c.same_segment(end)) settle(args, share.list, c);
  }
  share.next = c;
}

// The jobs of a warp, one after the other.
struct Walk {
  int32_t job;
  int32_t segment = 0;
  int32_t left = 0;  // quads of the job
  const char* at = nullptr;

  // Onto `job`, if there is such a one.
  __device__ void enter(const Segment* segments, int32_t jobs) {
    left = 0;
    if (job >= jobs) return;
    while (job >= segments[segment].first_job + segments[segment].jobs) ++segment;
    const Segment& s = segments[segment];
    const int32_t tile = s.first_tile + job - s.first_job;
    at = (s.up == nullptr ? s.gate + tile * s.tile_bytes : (tile % 2 == 0 ? s.gate : s.up) + tile / 2 * s.tile_bytes);
    left = s.quads;
  }
};

}  // namespace paceline::kernels::cuda
