// Attention on the processor. Both products run through the table's matrix kernels, with KV pages as the matrices: keys
// [tokens, head_dim] and values [head_dim, tokens]. So every table has one arithmetic for weights and for attention.
//
// A row walks pages in absolute order with a running maximum and sum (keys outside its range count as -infinity, which
// adds exact zeros); nothing in the walk depends on which other rows share the block.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/cpu_ops.h"

namespace paceline::kernels {
namespace {

constexpr float kNone = -std::numeric_limits<float>::infinity();
// Queries (rows times heads of one KV head) that share a walk: what the narrow matrix kernels take at once.
constexpr int32_t kBlockQueries = 16;

int64_t page_offset(const HeadShape& shape, int32_t kv_head) {
  return static_cast<int64_t>(kv_head) * kPageTokens * shape.head_dim *
         static_cast<int64_t>(dtype_bytes(shape.kv_dtype));
}

Matrix page_matrix(const HeadShape& shape, const void* page, int32_t kv_head, bool values) {
  Matrix m;
  m.format = shape.kv_dtype == DType::f32 ? WeightFormat::f32 : WeightFormat::bf16;
  m.rows = values ? shape.head_dim : kPageTokens;
  m.cols = values ? kPageTokens : shape.head_dim;
  m.values = static_cast<const char*>(page) + page_offset(shape, kv_head);
  return m;
}

// Consecutive rows of one sequence times some heads of one KV head.
struct Block {
  const SeqSpan* seq;
  int32_t row, rows;  // first, of the whole call
  int32_t kv_head;
  int32_t head, heads;  // first, among all query heads
  [[nodiscard]] int32_t queries() const { return rows * heads; }
  [[nodiscard]] int32_t pos_of(int32_t query) const { return seq->first_pos + row - seq->first_row + query / heads; }
};

struct Scratch {
  float* q;       // [queries, head_dim]
  float* out;     // [queries, head_dim]
  float* part;    // [queries, head_dim]
  float* scores;  // [queries, kPageTokens]
  Act q_act, score_act;
};

class Walk {
 public:
  Walk(const CpuTable& table, const AttentionArgs& args, const Block& block, const Scratch& scratch)
      : table_(table), args_(args), block_(block), s_(scratch) {}

  void run() {
    const HeadShape& shape = args_.shape;
    const int32_t queries = block_.queries(), dim = shape.head_dim;
    for (int32_t i = 0; i < queries; ++i) {
      std::memcpy(s_.q + static_cast<int64_t>(i) * dim, query(args_.q, i), static_cast<size_t>(dim) * sizeof(float));
      top_[i] = kNone;
      sum_[i] = 0;
    }
    std::memset(s_.out, 0, static_cast<size_t>(queries) * static_cast<size_t>(dim) * sizeof(float));
    table_.prepare(s_.q_act, s_.q, dim, 0, units());
    last_ = last_key(0);
    for (int32_t i = 1; i < queries; ++i) last_ = std::max(last_, last_key(i));
    for (int32_t page = first_key(0) / kPageTokens; page <= last_ / kPageTokens && last_ >= 0; ++page) visit(page);
    for (int32_t i = 0; i < queries; ++i) {
      float* out = const_cast<float*>(query(args_.out, i));
      std::memset(out, 0, static_cast<size_t>(dim) * sizeof(float));
      // 0: it sees nothing. What is not a number stays one: somebody has to hear of it.
      if (sum_[i] != 0) table_.blend(out, 0.0f, s_.out + static_cast<int64_t>(i) * dim, 1.0f / sum_[i], dim);
    }
  }

 private:
  [[nodiscard]] int32_t units() const { return (block_.queries() + table_.act_unit - 1) / table_.act_unit; }
  [[nodiscard]] const float* query(const float* rows, int32_t i) const {
    const int64_t row = block_.row + i / block_.heads, head = block_.head + i % block_.heads;
    return rows + (row * args_.shape.heads + head) * args_.shape.head_dim;
  }
  [[nodiscard]] int32_t first_key(int32_t i) const {
    return args_.window == 0 ? 0 : std::max(0, block_.pos_of(i) - args_.window + 1);
  }
  [[nodiscard]] int32_t last_key(int32_t i) const {
    if (args_.last_pos != nullptr) return args_.last_pos[block_.row + i / block_.heads];
    return block_.pos_of(i) - (args_.sees_self ? 0 : 1);
  }

  // Scores of the keys of a page, masked per query; updates top_ and sum_, leaves exponentials in scores.
  void visit(int32_t page) {
    const HeadShape& shape = args_.shape;
    const int32_t base = page * kPageTokens, queries = block_.queries(), dim = shape.head_dim;
    const int32_t begin = std::max(0, first_key(0) - base) / kOutputTile * kOutputTile;
    const int32_t end = std::min(kPageTokens, last_ - base + 1);
    table_.matmul(page_matrix(shape, block_.seq->pages.keys_of(page), block_.kv_head, false), s_.q_act, s_.scores,
                  kPageTokens, begin, end);
    float keep[kBlockQueries];
    for (int32_t i = 0; i < queries; ++i) keep[i] = settle(i, base);
    table_.prepare(s_.score_act, s_.scores, kPageTokens, 0, units());
    table_.matmul(page_matrix(shape, block_.seq->pages.values_of(page), block_.kv_head, true), s_.score_act, s_.part,
                  dim, 0, dim);
    for (int32_t i = 0; i < queries; ++i)
      table_.blend(s_.out + static_cast<int64_t>(i) * dim, keep[i], s_.part + static_cast<int64_t>(i) * dim, 1.0f, dim);
  }

  // Masks query i's scores, turns them into exponentials; returns the factor for what was summed before.
  float settle(int32_t i, int32_t base) {
    float* scores = s_.scores + static_cast<int64_t>(i) * kPageTokens;
    const int32_t begin = std::clamp(first_key(i) - base, 0, kPageTokens);
    const int32_t end = std::clamp(last_key(i) - base + 1, begin, kPageTokens);
    std::fill(scores, scores + begin, kNone);
    std::fill(scores + end, scores + kPageTokens, kNone);
    const float top = begin < end ? std::max(top_[i], table_.max_of(scores + begin, end - begin)) : top_[i];
    if (top == kNone) {
      // Keys there are, and none of them has a number: nor has what comes of it.
      if (begin < end) sum_[i] = std::numeric_limits<float>::quiet_NaN();
      std::fill(scores, scores + kPageTokens, 0.0f);
      return 1.0f;
    }
    float keep = top_[i];
    table_.exp_sum(&keep, top, 1);
    sum_[i] = sum_[i] * keep + table_.exp_sum(scores, top, kPageTokens);
    top_[i] = top;
    return keep;
  }

  const CpuTable& table_;
  const AttentionArgs& args_;
  const Block& block_;
  const Scratch& s_;
  int32_t last_ = 0;  // that any of the queries sees
  float top_[kBlockQueries], sum_[kBlockQueries];
};

// Cuts the call into blocks: at most kBlockQueries queries each, and heads split further while there are fewer blocks
// than threads.
std::vector<Block> cut(const AttentionArgs& args, int threads) {
  const int32_t grouped = args.shape.heads / args.shape.kv_heads;
  int32_t rows_in_all = 0;
  for (const SeqSpan& seq : args.seqs) rows_in_all += seq.count;
  const int32_t parts = std::max(1, threads / std::max(1, args.shape.kv_heads * rows_in_all));
  const int32_t heads = std::max(1, std::min(kBlockQueries, (grouped + parts - 1) / parts));
  const int32_t rows = std::max(1, kBlockQueries / heads);
  std::vector<Block> blocks;
  for (const SeqSpan& seq : args.seqs)
    for (int32_t kv_head = 0; kv_head < args.shape.kv_heads; ++kv_head)
      for (int32_t row = 0; row < seq.count; row += rows)
        for (int32_t head = 0; head < grouped; head += heads)
          blocks.push_back({&seq, seq.first_row + row, std::min(rows, seq.count - row), kv_head,
                            kv_head * grouped + head, std::min(heads, grouped - head)});
  return blocks;
}

}  // namespace

void CpuOps::attention(const AttentionArgs& args) {
  const std::vector<Block> blocks = cut(args, pool_.threads());
  const int32_t dim = args.shape.head_dim;
  const ActKind kind = args.shape.kv_dtype == DType::f32 ? ActKind::f32 : ActKind::bf16;
  const size_t row_floats = static_cast<size_t>(kBlockQueries) * static_cast<size_t>(dim);
  const auto aligned = [](size_t bytes) { return (bytes + 63) / 64 * 64; };
  const size_t q_bytes = aligned(table_.act_bytes({kind, kBlockQueries, dim, 0}));
  const size_t score_bytes = aligned(table_.act_bytes({kind, kBlockQueries, kPageTokens, 0}));
  const size_t bytes =
      3 * row_floats * sizeof(float) + kBlockQueries * kPageTokens * sizeof(float) + q_bytes + score_bytes;
  auto* base = static_cast<char*>(attention_rows_.at_least(aligned(bytes) * static_cast<size_t>(pool_.threads())));
  pool_.run(static_cast<int64_t>(blocks.size()), 1, [&](int64_t begin, int64_t end, int worker) {
    char* mine = base + aligned(bytes) * static_cast<size_t>(worker);
    Scratch s{};
    s.q_act.bytes = mine;
    s.score_act.bytes = mine + q_bytes;
    s.q = reinterpret_cast<float*>(mine + q_bytes + score_bytes);
    s.out = s.q + row_floats;
    s.part = s.out + row_floats;
    s.scores = s.part + row_floats;
    for (int64_t i = begin; i < end; ++i) {
      const Block& block = blocks[static_cast<size_t>(i)];
      s.q_act.shape = {kind, block.queries(), dim, 0};
      s.score_act.shape = {kind, block.queries(), kPageTokens, 0};
      Walk(table_, args, block, s).run();
    }
  });
}

namespace {

void store_key(const HeadShape& shape, const KvPages& pages, int32_t pos, int32_t kv_head, const float* x) {
  const int32_t token = pos % kPageTokens, dim = shape.head_dim;
  auto* page = static_cast<char*>(pages.keys_of(pos / kPageTokens)) + page_offset(shape, kv_head);
  if (shape.kv_dtype == DType::f32) {
    std::memcpy(reinterpret_cast<float*>(page) + static_cast<int64_t>(token) * dim, x,
                static_cast<size_t>(dim) * sizeof(float));
    return;
  }
  auto* out = reinterpret_cast<uint16_t*>(page) + static_cast<int64_t>(token) * dim;
  for (int32_t i = 0; i < dim; ++i) out[i] = f32_to_bf16(x[i]);
}

void store_value(const HeadShape& shape, const KvPages& pages, int32_t pos, int32_t kv_head, const float* x) {
  const int32_t token = pos % kPageTokens;
  auto* page = static_cast<char*>(pages.values_of(pos / kPageTokens)) + page_offset(shape, kv_head);
  for (int32_t i = 0; i < shape.head_dim; ++i) {
    const int64_t at = static_cast<int64_t>(i) * kPageTokens + token;
    if (shape.kv_dtype == DType::f32)
      reinterpret_cast<float*>(page)[at] = x[i];
    else
      reinterpret_cast<uint16_t*>(page)[at] = f32_to_bf16(x[i]);
  }
}

}  // namespace

void CpuOps::heads(const HeadsArgs& args) {
  const HeadShape& shape = args.shape;
  const int32_t dim = shape.head_dim;
  const int32_t rotated = args.rotated(), part = rotated / args.rope_parts;
  CHECK(args.rope_parts == 1 || rotated == dim);
  const auto rotate = [&](float* x, int64_t row) {
    const float* cos = args.cos + row * (rotated / 2);
    const float* sin = args.sin + row * (rotated / 2);
    for (int32_t at = 0; at < rotated; at += part) table_.rope(x + at, cos + at / 2, sin + at / 2, part);
  };
  const auto one_row = [&](const SeqSpan& seq, int64_t row) {
    for (int32_t h = 0; h < shape.heads; ++h) {
      float* q = args.q + (row * shape.heads + h) * dim;
      table_.rms_norm(q, args.q_weight, q, dim, args.eps, 1.0f);
      rotate(q, row);
    }
    if (args.k == nullptr) return;
    const auto pos = static_cast<int32_t>(seq.first_pos + row - seq.first_row);
    float normed[kMaxHeadDim];
    for (int32_t h = 0; h < shape.kv_heads; ++h) {
      const float* v = args.v + (row * shape.kv_heads + h) * dim;
      if (args.norms_values) table_.rms_norm(v, nullptr, normed, dim, args.eps, 1.0f);
      store_value(shape, seq.pages, pos, h, args.norms_values ? normed : v);
      table_.rms_norm(args.k + (row * shape.kv_heads + h) * dim, args.k_weight, normed, dim, args.eps, 1.0f);
      rotate(normed, row);
      store_key(shape, seq.pages, pos, h, normed);
    }
  };
  for (const SeqSpan& seq : args.seqs)
    pool_.run(seq.count, 2, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) one_row(seq, seq.first_row + i);
    });
}

}  // namespace paceline::kernels
