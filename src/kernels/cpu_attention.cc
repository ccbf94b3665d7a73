// Attention on the processor: a call is cut into blocks of queries, and each block's walk into chunks of absolute
// positions (cpu_walk.h), which threads take in any order. A block's parts are then merged, chunks ascending:
//   M = max(m, m'), a = exp(m - M), b = exp(m' - M), sum = sum * a + sum' * b, out = out * a + out' * b
// So bits depend on positions alone, and a chunk's keys and values are read once for all queries of a block.
//
// Bound: with few queries to a KV head the bytes of keys and values; from about eight on (without dot products of bf16)
// their products.
#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

#include "base/check.h"
#include "kernels/cpu_ops.h"
#include "kernels/cpu_walk.h"
#include "kernels/kv_rotation.h"

namespace paceline::kernels {
namespace {

// As many pieces of work for each thread keep them from waiting for each other at the end.
constexpr int64_t kTasksPerThread = 4;
// Blocks this small still fill the tiles of the matrix kernels.
constexpr int64_t kLeastQueries = 8;
// Parts that are held at once before they are merged.
constexpr size_t kPartBytes = size_t{32} << 20;

constexpr int32_t kChunkTokens = kChunkPages * kPageTokens;

// A block of queries and one of its chunks.
struct WalkTask {
  size_t block;
  int32_t chunk;
};

// What a call is cut into; by what is fast, since no cut changes a bit.
struct Cut {
  std::vector<QueryBlock> blocks;
  std::vector<WalkTask> tasks;     // block by block, chunks ascending
  std::vector<size_t> first_task;  // of each block, and the number of all
  int32_t most_queries = 1;        // of a block

  [[nodiscard]] size_t chunks(size_t block) const { return first_task[block + 1] - first_task[block]; }
  // No block has more than one chunk.
  [[nodiscard]] bool whole() const { return tasks.size() == blocks.size(); }
};

// Queries of a block: many, so that a page is read once for all of them, and still work for every thread.
int64_t queries_at_once(const CpuTable& table, const AttentionArgs& args, int threads) {
  const int32_t most = table.block_queries > 0 ? table.block_queries : kFewBlockQueries;
  if (threads == 1) return most;
  int64_t work = 0;  // queries times chunks
  for (const SeqSpan& seq : args.seqs) {
    const int32_t end = seq.first_pos + seq.count, seen = args.window == 0 ? end : std::min(args.window, end);
    work += int64_t{seq.count} * args.shape.heads * ((seen + kChunkTokens - 1) / kChunkTokens);
  }
  const int64_t least = std::clamp<int64_t>(work / threads, 1, kLeastQueries);
  return std::clamp<int64_t>(work / (threads * kTasksPerThread), least, most);
}

std::vector<QueryBlock> blocks_of(const CpuTable& table, const AttentionArgs& args, int threads) {
  const int64_t queries = queries_at_once(table, args, threads);
  const int32_t grouped = args.shape.heads / args.shape.kv_heads;
  const auto parts = static_cast<int32_t>((grouped + queries - 1) / queries);
  const int32_t heads = (grouped + parts - 1) / parts;
  const auto rows = static_cast<int32_t>(std::max<int64_t>(1, queries / heads));
  std::vector<QueryBlock> blocks;
  for (const SeqSpan& seq : args.seqs)
    for (int32_t kv_head = 0; kv_head < args.shape.kv_heads; ++kv_head)
      for (int32_t row = 0; row < seq.count; row += rows)
        for (int32_t head = 0; head < grouped; head += heads)
          blocks.push_back({&seq, seq.first_row + row, std::min(rows, seq.count - row), kv_head,
                            kv_head * grouped + head, std::min(heads, grouped - head)});
  return blocks;
}

// A block that sees nothing has a chunk, too: somebody has to say so.
Cut cut(const CpuTable& table, const AttentionArgs& args, int threads) {
  Cut cut;
  cut.blocks = blocks_of(table, args, threads);
  for (size_t i = 0; i < cut.blocks.size(); ++i) {
    const QueryBlock& block = cut.blocks[i];
    int32_t last = 0;
    for (int32_t query = 0; query < block.queries(); query += block.heads)
      last = std::max(last, block.last_key(args, query));
    cut.first_task.push_back(cut.tasks.size());
    for (int32_t chunk = block.first_key(args, 0) / kChunkTokens; chunk <= last / kChunkTokens; ++chunk)
      cut.tasks.push_back({i, chunk});
    cut.most_queries = std::max(cut.most_queries, block.queries());
  }
  cut.first_task.push_back(cut.tasks.size());
  return cut;
}

// Results while they are merged: values in the call's own output, [rows, heads].
struct Merged {
  const CpuTable& table;
  const AttentionArgs& args;
  const Rotation* rotation;  // of codes
  float *top, *sum;          // [rows, heads]

  [[nodiscard]] int64_t head_at(const QueryBlock& block, int32_t query) const {
    return int64_t{block.row_of(query)} * args.shape.heads + block.head_of(query);
  }

  void start(const QueryBlock& block, int32_t query) const {
    top[head_at(block, query)] = kNoScore;
    sum[head_at(block, query)] = 0;
  }

  void add(const QueryBlock& block, int32_t query, const WalkPart& part) const {
    const int32_t dim = args.shape.head_dim;
    const int64_t at = head_at(block, query);
    const float part_top = part.top[query], part_sum = part.sum[query];
    const float* values = part.out + int64_t{query} * dim;
    float* out = args.out + at * dim;
    if (part_top == kNoScore && part_sum == 0) return;
    if (top[at] == kNoScore && sum[at] == 0) {
      top[at] = part_top;
      sum[at] = part_sum;
      std::memcpy(out, values, static_cast<size_t>(dim) * sizeof(float));
      return;
    }
    const float most = std::max(top[at], part_top);
    float keep = top[at], share = part_top;
    table.exp_sum(&keep, most, 1);
    table.exp_sum(&share, most, 1);
    table.blend(out, keep, values, share, dim);
    sum[at] = sum[at] * keep + part_sum * share;
    top[at] = most;
  }

  // Divides by the sum, and turns back what is rotated or ordered. 0: it sees nothing. What is not a number stays one:
  // somebody has to hear of it.
  void finish(const QueryBlock& block, int32_t query) const {
    static constexpr float kZeros[kMaxHeadDim] = {};
    const int32_t dim = args.shape.head_dim;
    const int64_t at = head_at(block, query);
    float* out = args.out + at * dim;
    if (sum[at] == 0) {
      std::memset(out, 0, static_cast<size_t>(dim) * sizeof(float));
      return;
    }
    table.blend(out, 1.0f / sum[at], kZeros, 0.0f, dim);  // so that a zero has no sign, whatever was masked
    if (rotation != nullptr) rotation->turn_back(out, 0, dim);
    if (args.shape.joined == 0) return;
    float ordered[kMaxHeadDim];
    std::copy_n(out, dim, ordered);
    order_back(args.shape, ordered, out);
  }
};

// One call: as many tasks at a time as parts are held, then their merging.
class AttentionCall {
 public:
  AttentionCall(const CpuTable& table, ThreadPool& pool, const AttentionArgs& args)
      : table_(table),
        pool_(pool),
        args_(args),
        cut_(cut(table, args, pool.threads())),
        merged_{table, args, nullptr, nullptr, nullptr} {
    for (const SeqSpan& seq : args.seqs)
      heads_ = std::max(heads_, static_cast<size_t>(seq.first_row + seq.count) * static_cast<size_t>(args.shape.heads));
    const size_t floats = static_cast<size_t>(cut_.most_queries) * static_cast<size_t>(args.shape.head_dim + 2);
    part_bytes_ = (floats * sizeof(float) + 63) / 64 * 64;
    scratch_bytes_ = WalkScratch::bytes(table, args.shape);
    if (args.shape.kv_dtype == DType::i8) merged_.rotation = &rotation_.emplace(args.shape);
    wave_ = cut_.whole() ? cut_.tasks.size()
                         : std::min(cut_.tasks.size(), std::max(8 * threads(), kPartBytes / part_bytes_));
  }

  // Per thread scratch and a part of its own, then the parts of a wave, then what is merged.
  [[nodiscard]] size_t bytes() const {
    return (scratch_bytes_ + part_bytes_) * threads() + part_bytes_ * (cut_.whole() ? 0 : wave_) +
           2 * heads_ * sizeof(float);
  }

  void run(void* memory) {
    scratch_ = static_cast<char*>(memory);
    parts_ = scratch_ + scratch_bytes_ * threads();
    merged_.top = reinterpret_cast<float*>(parts_ + part_bytes_ * (threads() + (cut_.whole() ? 0 : wave_)));
    merged_.sum = merged_.top + heads_;
    for (size_t first = 0; first < cut_.tasks.size(); first += wave_) {
      const size_t end = std::min(first + wave_, cut_.tasks.size());
      pool_.run(static_cast<int64_t>(end - first), 1, [&](int64_t from, int64_t to, int worker) {
        WalkScratch scratch(table_, args_.shape, scratch_ + scratch_bytes_ * static_cast<size_t>(worker));
        for (int64_t i = from; i < to; ++i) walk(first, static_cast<size_t>(i), static_cast<size_t>(worker), scratch);
      });
      if (!cut_.whole()) merge(first, end);
    }
  }

 private:
  [[nodiscard]] size_t threads() const { return static_cast<size_t>(pool_.threads()); }
  [[nodiscard]] WalkPart part_at(size_t i) const {
    auto* floats = reinterpret_cast<float*>(parts_ + part_bytes_ * i);
    float* tail = floats + int64_t{cut_.most_queries} * args_.shape.head_dim;
    return {tail, tail + cut_.most_queries, floats};
  }

  void walk(size_t first, size_t i, size_t worker, WalkScratch& scratch) {
    const WalkTask& task = cut_.tasks[first + i];
    const QueryBlock& block = cut_.blocks[task.block];
    const bool alone = cut_.chunks(task.block) == 1;
    const WalkPart part = part_at(alone ? worker : threads() + i);
    walk_chunk(table_, args_, block, task.chunk, scratch, part);
    for (int32_t query = 0; alone && query < block.queries(); ++query) {
      merged_.start(block, query);
      merged_.add(block, query, part);
      merged_.finish(block, query);
    }
  }

  // Tasks [first, end) of blocks that have several.
  void merge(size_t first, size_t end) {
    const size_t first_block = cut_.tasks[first].block, blocks = cut_.tasks[end - 1].block + 1 - first_block;
    const auto queries = static_cast<size_t>(cut_.most_queries);
    pool_.run(static_cast<int64_t>(blocks * queries), 4, [&](int64_t from, int64_t to) {
      for (auto i = static_cast<size_t>(from); i < static_cast<size_t>(to); ++i) {
        const size_t b = first_block + i / queries;
        const auto query = static_cast<int32_t>(i % queries);
        const QueryBlock& block = cut_.blocks[b];
        if (query >= block.queries() || cut_.chunks(b) == 1) continue;
        if (first <= cut_.first_task[b]) merged_.start(block, query);
        for (size_t t = std::max(first, cut_.first_task[b]); t < std::min(end, cut_.first_task[b + 1]); ++t)
          merged_.add(block, query, part_at(threads() + t - first));
        if (cut_.first_task[b + 1] <= end) merged_.finish(block, query);
      }
    });
  }

  const CpuTable& table_;
  ThreadPool& pool_;
  const AttentionArgs& args_;
  Cut cut_;
  std::optional<Rotation> rotation_;
  size_t heads_ = 0;  // of all rows
  size_t part_bytes_ = 0, scratch_bytes_ = 0;
  size_t wave_ = 0;  // tasks
  char *scratch_ = nullptr, *parts_ = nullptr;
  Merged merged_;
};

}  // namespace

void CpuOps::attention(const AttentionArgs& args) {
  AttentionCall call(table_, pool_, args);
  call.run(attention_rows_.at_least(call.bytes()));
}

}  // namespace paceline::kernels
