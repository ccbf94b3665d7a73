// One chunk of attention on the processor: the walk of some queries over a chunk's pages.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>

#include "kernels/cpu_products.h"
#include "kernels/cpu_table.h"
#include "kernels/ops.h"

namespace paceline::kernels {

// Consecutive rows of one sequence times some heads of one KV head.
struct QueryBlock {
  const SeqSpan* seq = nullptr;
  int32_t row = 0, rows = 0;  // first, of the whole call
  int32_t kv_head = 0;
  int32_t head = 0, heads = 0;  // first, among all query heads

  [[nodiscard]] int32_t queries() const { return rows * heads; }
  [[nodiscard]] int32_t row_of(int32_t query) const { return row + query / heads; }
  [[nodiscard]] int32_t head_of(int32_t query) const { return head + query % heads; }
  [[nodiscard]] int32_t pos_of(int32_t query) const { return seq->first_pos + row_of(query) - seq->first_row; }
  // What query i sees, both included; last below first: nothing.
  [[nodiscard]] int32_t first_key(const AttentionArgs& args, int32_t query) const {
    return args.window == 0 ? 0 : std::max(0, pos_of(query) - args.window + 1);
  }
  [[nodiscard]] int32_t last_key(const AttentionArgs& args, int32_t query) const {
    if (args.last_pos != nullptr) return args.last_pos[row_of(query)];
    return pos_of(query) - (args.sees_self ? 0 : 1);
  }
};

// The score of a key that is not seen.
inline constexpr float kNoScore = -std::numeric_limits<float>::infinity();

// What comes of a walk: per query the largest score, the sum of exponentials below it and the values that they weigh.
// A query that saw nothing has -infinity, 0 and zeros.
struct WalkPart {
  float* top = nullptr;  // [queries]
  float* sum = nullptr;  // [queries]
  float* out = nullptr;  // [queries, head_dim]
};

// A thread's own memory for walks of one call.
class WalkScratch {
 public:
  static size_t bytes(const CpuTable& table, const HeadShape& shape);
  // memory: so many bytes, 64-byte aligned.
  WalkScratch(const CpuTable& table, const HeadShape& shape, void* memory);

  float* rows = nullptr;    // [kBlockQueries, head_dim]
  float* scores = nullptr;  // [kBlockQueries, kPageTokens]
  std::unique_ptr<PageProducts> products;
};

// Pages [chunk * kChunkPages, …), from nothing.
void walk_chunk(const CpuTable& table, const AttentionArgs& args, const QueryBlock& block, int32_t chunk,
                WalkScratch& scratch, const WalkPart& part);

}  // namespace paceline::kernels
