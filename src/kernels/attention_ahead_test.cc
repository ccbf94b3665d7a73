// Attention of rows that see ahead (tokens of one image) against a plain one in double precision; and the bits of a row
// alone against those among others.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/cpu_ops.h"

namespace paceline::kernels {
namespace {

constexpr int32_t kDim = 32;

// A sequence whose keys and values are all written; queries at the last `rows` positions.
struct Sequence {
  Sequence(const HeadShape& shape_in, int32_t length_in, int32_t rows_in, uint64_t seed)
      : shape(shape_in), length(length_in), rows(rows_in) {
    float next = static_cast<float>(seed);
    const auto number = [&next] { return std::sin(next += 1.37f); };
    const auto cells = static_cast<size_t>(shape.kv_heads) * kPageTokens * kDim;
    for (int32_t page = 0; page * kPageTokens < length; ++page) numbers.push_back(page);
    pages.resize(2 * cells * numbers.size());
    std::generate(pages.begin(), pages.end(), number);
    q.resize(static_cast<size_t>(rows) * shape.heads * kDim);
    std::generate(q.begin(), q.end(), number);
    for (int32_t i = 0; i < rows; ++i) last_pos.push_back(length - rows + i);
  }

  void see_ahead(int32_t first_row, int32_t count) {
    std::fill_n(last_pos.begin() + first_row, count, length - rows + first_row + count - 1);
  }

  [[nodiscard]] KvPages view() const {
    const auto page_floats = static_cast<size_t>(shape.kv_heads) * kPageTokens * kDim;
    return pages_in_a_row(const_cast<float*>(pages.data()), page_floats * sizeof(float), numbers.data());
  }
  [[nodiscard]] SeqSpan span(int32_t first_row) const { return {first_row, rows, length - rows, view()}; }

  [[nodiscard]] double key(int32_t pos, int32_t head, int32_t i) const {
    return static_cast<float*>(view().keys_of(pos / kPageTokens))[(head * kPageTokens + pos % kPageTokens) * kDim + i];
  }
  [[nodiscard]] double value(int32_t pos, int32_t head, int32_t i) const {
    return static_cast<float*>(
        view().values_of(pos / kPageTokens))[(head * kDim + i) * kPageTokens + pos % kPageTokens];
  }

  // [heads, head_dim] of one row
  [[nodiscard]] std::vector<double> plain(int32_t row, int32_t window) const {
    std::vector<double> out;
    const int32_t pos = length - rows + row, first = window == 0 ? 0 : std::max(0, pos - window + 1);
    for (int32_t head = 0; head < shape.heads; ++head) {
      const int32_t kv_head = head / (shape.heads / shape.kv_heads);
      std::vector<double> weights, sums(kDim, 0.0);
      double all = 0;
      for (int32_t k = first; k <= last_pos[row]; ++k) {
        double score = 0;
        for (int32_t i = 0; i < kDim; ++i) score += q[(row * shape.heads + head) * kDim + i] * key(k, kv_head, i);
        weights.push_back(std::exp(score));
        all += weights.back();
      }
      for (int32_t k = first; k <= last_pos[row]; ++k) {
        for (int32_t i = 0; i < kDim; ++i) sums[i] += weights[k - first] / all * value(k, kv_head, i);
      }
      out.insert(out.end(), sums.begin(), sums.end());
    }
    return out;
  }

  HeadShape shape;
  int32_t length, rows;
  std::vector<float> pages;
  std::vector<int32_t> numbers;
  std::vector<float> q;
  std::vector<int32_t> last_pos;
};

// All sequences in one call.
std::vector<float> attend(const CpuTable& table, int threads, const std::vector<const Sequence*>& seqs,
                          int32_t window) {
  ThreadPool pool(threads);
  CpuOps ops(table, pool);
  std::vector<SeqSpan> spans;
  std::vector<float> q;
  std::vector<int32_t> last_pos;
  for (const Sequence* seq : seqs) {
    spans.push_back(seq->span(static_cast<int32_t>(last_pos.size())));
    q.insert(q.end(), seq->q.begin(), seq->q.end());
    last_pos.insert(last_pos.end(), seq->last_pos.begin(), seq->last_pos.end());
  }
  std::vector<float> out(q.size());
  ops.attention({seqs[0]->shape, q.data(), out.data(), window, true, spans, last_pos.data()});
  return out;
}

class AttentionAheadTest : public testing::TestWithParam<const CpuTable*> {
 protected:
  static constexpr HeadShape kShape{4, 2, kDim, DType::f32};
};

// Windows shorter and longer than the image; images that end in another page than they begin in.
TEST_P(AttentionAheadTest, RowsSeeAheadAsFarAsTheyMay) {
  for (const int32_t window : {0, 20, 64, 100}) {
    Sequence seq(kShape, 170, 150, 5);
    seq.see_ahead(7, 60);
    seq.see_ahead(70, 75);
    const std::vector<float> out = attend(*GetParam(), 2, {&seq}, window);
    for (int32_t row = 0; row < seq.rows; ++row) {
      const std::vector<double> expected = seq.plain(row, window);
      for (size_t i = 0; i < expected.size(); ++i) {
        ASSERT_NEAR(out[row * expected.size() + i], expected[i], 2e-5) << "window " << window << " row " << row;
      }
    }
  }
}

TEST_P(AttentionAheadTest, OwnPositionsAreWhatIsSeenWithoutAList) {
  const Sequence seq(kShape, 150, 40, 11);
  ThreadPool pool(2);
  CpuOps ops(*GetParam(), pool);
  const SeqSpan span = seq.span(0);
  std::vector<float> out(seq.q.size());
  ops.attention({kShape, seq.q.data(), out.data(), 64, true, {&span, 1}});
  EXPECT_EQ(out, attend(*GetParam(), 2, {&seq}, 64));
}

TEST_P(AttentionAheadTest, CompanyAndThreadsChangeNoBit) {
  Sequence seq(kShape, 170, 90, 3), other(kShape, 130, 37, 8);
  seq.see_ahead(13, 66);
  other.see_ahead(0, 20);
  const std::vector<float> alone = attend(*GetParam(), 1, {&seq}, 64);
  for (const int threads : {1, 2, 4}) {
    EXPECT_EQ(attend(*GetParam(), threads, {&seq}, 64), alone);
    const std::vector<float> both = attend(*GetParam(), threads, {&other, &seq}, 64);
    EXPECT_EQ(std::memcmp(both.data() + other.q.size(), alone.data(), alone.size() * sizeof(float)), 0) << threads;
  }
}

INSTANTIATE_TEST_SUITE_P(All, AttentionAheadTest, testing::ValuesIn(cpu_tables()), [](const auto& table) {
  std::string name(table.param->name);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace paceline::kernels
