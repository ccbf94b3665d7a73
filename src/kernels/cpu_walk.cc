// Pages come in absolute order, with a running maximum and sum (keys outside a query's range count as -infinity, which
// adds exact zeros); nothing in the walk depends on which other queries share the block.
#include "kernels/cpu_walk.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace paceline::kernels {
namespace {

class ChunkWalk {
 public:
  ChunkWalk(const CpuTable& table, const AttentionArgs& args, const QueryBlock& block, WalkScratch& scratch,
            const WalkPart& part)
      : table_(table), args_(args), block_(block), s_(scratch), part_(part) {}

  void run(int32_t chunk) {
    const int32_t queries = block_.queries(), dim = args_.shape.head_dim;
    std::fill_n(part_.top, queries, kNoScore);
    std::fill_n(part_.sum, queries, 0.0f);
    std::memset(part_.out, 0, static_cast<size_t>(queries) * static_cast<size_t>(dim) * sizeof(float));
    first_ = block_.first_key(args_, 0);
    last_ = block_.last_key(args_, 0);
    for (int32_t i = 1; i < queries; ++i) last_ = std::max(last_, block_.last_key(args_, i));
    const int32_t begin = std::max(chunk * kChunkPages, first_ / kPageTokens);
    const int32_t end = last_ < 0 ? begin : std::min((chunk + 1) * kChunkPages, last_ / kPageTokens + 1);
    if (begin >= end) return;
    prepare_queries();
    for (int32_t page = begin; page < end; ++page) visit(page, page + 1 < end ? page + 1 : page);
    s_.products->finish(part_.out);
  }

 private:
  void prepare_queries() {
    const int32_t dim = args_.shape.head_dim;
    for (int32_t i = 0; i < block_.queries(); ++i) {
      const int64_t head = static_cast<int64_t>(block_.row_of(i)) * args_.shape.heads + block_.head_of(i);
      std::memcpy(s_.rows + static_cast<int64_t>(i) * dim, args_.q + head * dim,
                  static_cast<size_t>(dim) * sizeof(float));
    }
    s_.products->set_queries(s_.rows, block_.queries());
  }

  // No prefetcher knows which page comes next.
  void visit(int32_t page, int32_t next) {
    const int32_t base = page * kPageTokens;
    const KvPages& pages = block_.seq->pages;
    const bool joined = args_.shape.joined > 0;
    const HeadPage at{&pages, page, block_.kv_head, joined ? pages.keys_of(next) : pages.values_of(page)};
    const int32_t begin = std::max(0, first_ - base) / kOutputTile * kOutputTile;
    s_.products->score(at, begin, std::min(kPageTokens, last_ - base + 1), s_.scores);
    float keep[kBlockQueries];
    for (int32_t i = 0; i < block_.queries(); ++i) keep[i] = settle(i, base);
    s_.products->add_values({&pages, page, block_.kv_head, joined ? nullptr : pages.keys_of(next)}, s_.scores, keep,
                            part_.out);
  }

  // Masks query i's scores, turns them into exponentials; returns the factor for what was summed before.
  float settle(int32_t i, int32_t base) {
    float* scores = s_.scores + static_cast<int64_t>(i) * kPageTokens;
    float &top = part_.top[i], &sum = part_.sum[i];
    const int32_t begin = std::clamp(block_.first_key(args_, i) - base, 0, kPageTokens);
    const int32_t end = std::clamp(block_.last_key(args_, i) - base + 1, begin, kPageTokens);
    std::fill(scores, scores + begin, kNoScore);
    std::fill(scores + end, scores + kPageTokens, kNoScore);
    const float before = top;
    if (begin < end) top = std::max(top, table_.max_of(scores + begin, end - begin));
    if (top == kNoScore) {
      // Keys there are, and none of them has a number: nor has what comes of it.
      if (begin < end) sum = std::numeric_limits<float>::quiet_NaN();
      std::fill(scores, scores + kPageTokens, 0.0f);
      return 1.0f;
    }
    float keep = 1.0f;  // what exp(0) is
    if (before != top) {
      keep = before;
      table_.exp_sum(&keep, top, 1);
    }
    sum = sum * keep + table_.exp_sum(scores, top, kPageTokens);
    return keep;
  }

  const CpuTable& table_;
  const AttentionArgs& args_;
  const QueryBlock& block_;
  WalkScratch& s_;
  const WalkPart& part_;
  int32_t first_ = 0, last_ = 0;  // that any of the queries sees
};

}  // namespace

size_t WalkScratch::bytes(const CpuTable& table, const HeadShape& shape) {
  return products_bytes(table, shape) +
         in_lines(kBlockQueries * static_cast<size_t>(shape.head_dim + kPageTokens) * sizeof(float));
}

WalkScratch::WalkScratch(const CpuTable& table, const HeadShape& shape, void* memory)
    : products(make_products(table, shape, memory)) {
  rows = reinterpret_cast<float*>(static_cast<char*>(memory) + products_bytes(table, shape));
  scores = rows + static_cast<int64_t>(kBlockQueries) * shape.head_dim;
}

void walk_chunk(const CpuTable& table, const AttentionArgs& args, const QueryBlock& block, int32_t chunk,
                WalkScratch& scratch, const WalkPart& part) {
  ChunkWalk(table, args, block, scratch, part).run(chunk);
}

}  // namespace paceline::kernels
