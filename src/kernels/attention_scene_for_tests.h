// Random keys, values and queries for tests of attention, and what comes of them in double.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cpu_ops.h"
#include "kernels/random_matrix.h"

namespace paceline::kernels {

// One layer's pages of one sequence, full of random numbers: also where no key was ever written, or an old one of the
// ring is left. None of that may be seen.
class RandomPages {
 public:
  RandomPages(const HeadShape& shape, int32_t length, int32_t slots, std::mt19937& random) : shape_(shape) {
    const int32_t count = slots > 0 ? slots : (length + kPageTokens - 1) / kPageTokens;
    const auto floats = static_cast<size_t>(shape.kv_heads) * static_cast<size_t>(shape.head_dim) * kPageTokens;
    std::normal_distribution<float> value(0, 1);
    numbers_.resize(2 * floats * static_cast<size_t>(count));
    for (float& v : numbers_) v = value(random);
    void* first = numbers_.data();
    if (shape.kv_dtype == DType::bf16) {
      narrow_.resize(numbers_.size());
      std::transform(numbers_.begin(), numbers_.end(), narrow_.begin(), f32_to_bf16);
      std::transform(narrow_.begin(), narrow_.end(), numbers_.begin(), bf16_to_f32);
      first = narrow_.data();
    }
    // In any order: where a page lies is what its number says.
    for (int32_t page = 0; page < count; ++page) order_.push_back(page);
    std::shuffle(order_.begin(), order_.end(), random);
    pages_ = pages_in_a_row(first, floats * dtype_bytes(shape.kv_dtype), order_.data(), slots);
  }
  RandomPages(const RandomPages&) = delete;
  RandomPages& operator=(const RandomPages&) = delete;

  [[nodiscard]] const KvPages& pages() const { return pages_; }
  [[nodiscard]] double key(int32_t pos, int32_t head, int32_t i) const {
    return at(pos, 0,
              (static_cast<size_t>(head) * kPageTokens + static_cast<size_t>(pos % kPageTokens)) * dim() +
                  static_cast<size_t>(i));
  }
  [[nodiscard]] double value(int32_t pos, int32_t head, int32_t i) const {
    return at(pos, 1,
              (static_cast<size_t>(head) * dim() + static_cast<size_t>(i)) * kPageTokens +
                  static_cast<size_t>(pos % kPageTokens));
  }

 private:
  [[nodiscard]] size_t dim() const { return static_cast<size_t>(shape_.head_dim); }
  [[nodiscard]] double at(int32_t pos, size_t which, size_t i) const {
    const auto page = static_cast<size_t>(order_[static_cast<size_t>(pages_.slot_of(pos / kPageTokens))]);
    const size_t floats = static_cast<size_t>(shape_.kv_heads) * dim() * kPageTokens;
    return static_cast<double>(numbers_[(2 * page + which) * floats + i]);
  }

  HeadShape shape_;
  KvPages pages_;
  std::vector<float> numbers_;    // [page][0 keys, 1 values]
  std::vector<uint16_t> narrow_;  // the same, as bf16
  std::vector<int32_t> order_;
};

struct AttentionCase {
  HeadShape shape;
  int32_t window;
  bool sees_self;
  std::vector<std::pair<int32_t, int32_t>> rows;  // per sequence: first position, count

  [[nodiscard]] std::string text() const {
    return std::to_string(shape.heads) + "/" + std::to_string(shape.kv_heads) + " heads of " +
           std::to_string(shape.head_dim) + ", " + dtype_name(shape.kv_dtype) + ", window " + std::to_string(window) +
           (sees_self ? "" : ", not itself");
  }
};

// A case's queries and pages.
class Scene {
 public:
  Scene(const AttentionCase& c, std::mt19937& random) : case_(c) {
    int32_t row = 0;
    for (const auto& [first_pos, count] : c.rows) {
      // As long a ring as the rows need, and no longer.
      const int32_t slots = c.window > 0 ? (c.window + count + kPageTokens - 2) / kPageTokens + 1 : 0;
      pages_.push_back(std::make_unique<RandomPages>(c.shape, first_pos + count, slots, random));
      seqs_.push_back({row, count, first_pos, pages_.back()->pages()});
      row += count;
    }
    q_ = random_rows(row, c.shape.heads * c.shape.head_dim, random);
    // So that scores spread over a few units.
    for (float& v : q_) v *= 2.0f / std::sqrt(static_cast<float>(c.shape.head_dim));
  }

  [[nodiscard]] int64_t row_floats() const { return static_cast<int64_t>(case_.shape.heads) * case_.shape.head_dim; }
  [[nodiscard]] const std::vector<SeqSpan>& seqs() const { return seqs_; }

  [[nodiscard]] AttentionArgs args(float* out) const {
    return {case_.shape, q_.data(), out, case_.window, case_.sees_self, seqs_};
  }

  [[nodiscard]] std::vector<float> run(const CpuTable& table, ThreadPool& pool) const {
    std::vector<float> out(q_.size(), NAN);
    CpuOps ops(table, pool);
    ops.attention(args(out.data()));
    return out;
  }

  // Rows [first, first + count) of one sequence, without anybody else.
  [[nodiscard]] std::vector<float> run_alone(CpuOps& ops, const SeqSpan& seq, int32_t first, int32_t count) const {
    SeqSpan alone = seq;
    alone.first_row = 0;
    alone.first_pos += first;
    alone.count = count;
    std::vector<float> out(static_cast<size_t>(count * row_floats()), NAN);
    ops.attention({case_.shape,
                   q_.data() + (seq.first_row + first) * row_floats(),
                   out.data(),
                   case_.window,
                   case_.sees_self,
                   {&alone, 1}});
    return out;
  }

  // One head of one row, in double. With bf16 keys queries are bf16 as well.
  [[nodiscard]] std::vector<double> want(size_t s, int32_t row, int32_t head) const {
    const HeadShape& shape = case_.shape;
    const int32_t pos = seqs_[s].first_pos + row, kv_head = head / (shape.heads / shape.kv_heads);
    const float* q =
        q_.data() + (seqs_[s].first_row + row) * row_floats() + static_cast<int64_t>(head) * shape.head_dim;
    const int32_t begin = case_.window == 0 ? 0 : std::max(0, pos - case_.window + 1),
                  end = case_.sees_self ? pos + 1 : pos;
    std::vector<double> scores;
    for (int32_t key = begin; key < end; ++key) {
      double score = 0;
      for (int32_t i = 0; i < shape.head_dim; ++i)
        score += static_cast<double>(shape.kv_dtype == DType::bf16 ? bf16_to_f32(f32_to_bf16(q[i])) : q[i]) *
                 pages_[s]->key(key, kv_head, i);
      scores.push_back(score);
    }
    std::vector<double> out(static_cast<size_t>(shape.head_dim), 0.0);
    if (scores.empty()) return out;
    const double top = *std::max_element(scores.begin(), scores.end());
    double sum = 0;
    for (double& score : scores) sum += score = std::exp(score - top);
    for (int32_t key = begin; key < end; ++key)
      for (int32_t i = 0; i < shape.head_dim; ++i)
        out[static_cast<size_t>(i)] +=
            scores[static_cast<size_t>(key - begin)] / sum * pages_[s]->value(key, kv_head, i);
    return out;
  }

 private:
  const AttentionCase& case_;
  std::vector<std::unique_ptr<RandomPages>> pages_;
  std::vector<SeqSpan> seqs_;
  std::vector<float> q_;  // [rows, heads, head_dim]
};

}  // namespace paceline::kernels
