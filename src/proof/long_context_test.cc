// A golden model far beyond the context that its goldens have: behind 100,000 tokens (PACELINE_TEST_LONG=1; else some
// thousands), every table's attention against the portable kernels with attention in double.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>

#include "kernels/cpu_ops.h"
#include "kernels/cpu_pages.h"
#include "model/gemma4/gemma4_forward.h"
#include "proof/golden_engine_for_tests.h"
#include "proof/goldens.h"
#include "proof/long_form_for_tests.h"

namespace paceline {
namespace {

constexpr int32_t kLastRows = 24;

// Attention in double over pages of float32, keys and values apart; and how far the table's own was from it.
class DoubleAttentionOps : public kernels::CpuOps {
 public:
  using CpuOps::CpuOps;

  void attention(const kernels::AttentionArgs& args) override {
    CpuOps::attention(args);
    const kernels::HeadShape& shape = args.shape;
    ASSERT_TRUE(shape.kv_dtype == DType::f32 && shape.joined == 0 && args.last_pos == nullptr);
    double wrong = 0, all = 0;
    for (const kernels::SeqSpan& seq : args.seqs)
      for (int32_t i = 0; i < seq.count; ++i)
        for (int32_t head = 0; head < shape.heads; ++head) {
          const int64_t at = (static_cast<int64_t>(seq.first_row + i) * shape.heads + head) * shape.head_dim;
          const std::vector<double> exact = attend(args, seq, seq.first_pos + i, head, args.q + at);
          for (size_t k = 0; k < exact.size(); ++k) {
            const double off = static_cast<double>(args.out[at + static_cast<int64_t>(k)]) - exact[k];
            wrong += off * off;
            all += exact[k] * exact[k];
            args.out[at + static_cast<int64_t>(k)] = static_cast<float>(exact[k]);
          }
        }
    worst_ = std::max(worst_, std::sqrt(wrong / all));
  }

  // Of any call: the root of the mean square of what was off, over that of what is right.
  [[nodiscard]] double worst() const { return worst_; }

 private:
  static std::vector<double> attend(const kernels::AttentionArgs& args, const kernels::SeqSpan& seq, int32_t pos,
                                    int32_t head, const float* q) {
    const kernels::HeadShape& shape = args.shape;
    const int32_t dim = shape.head_dim, kv_head = head / (shape.heads / shape.kv_heads);
    const int32_t first = args.window == 0 ? 0 : std::max(0, pos - args.window + 1);
    const int32_t last = args.sees_self ? pos : pos - 1;
    const auto in_page = [&](void* page) { return static_cast<const float*>(head_in(shape, page, kv_head)); };
    std::vector<double> scores;
    for (int32_t key = first; key <= last; ++key) {
      const float* k = in_page(seq.pages.keys_of(key / kPageTokens)) + static_cast<int64_t>(key % kPageTokens) * dim;
      scores.push_back(std::inner_product(k, k + dim, q, 0.0, std::plus<>(), [](float a, float b) {
        return static_cast<double>(a) * static_cast<double>(b);
      }));
    }
    const double top = *std::max_element(scores.begin(), scores.end());
    double sum = 0;
    for (double& score : scores) sum += score = std::exp(score - top);
    std::vector<double> out(static_cast<size_t>(dim), 0.0);
    for (int32_t key = first; key <= last; ++key) {
      const float* values = in_page(seq.pages.values_of(key / kPageTokens)) + key % kPageTokens;
      const double share = scores[static_cast<size_t>(key - first)] / sum;
      for (int32_t i = 0; i < dim; ++i)
        out[static_cast<size_t>(i)] += share * static_cast<double>(values[i * kPageTokens]);
    }
    return out;
  }

  double worst_ = 0;
};

KvFormats float32_apart() {
  KvFormats formats = DType::f32;
  formats.joined = false;
  return formats;
}

class LongContext : public testing::TestWithParam<const char*> {
 protected:
  LongContext()
      : pool_(2),
        length_(long_form() ? 100'000 : 1'500),
        model_(
            *load_model(std::filesystem::path(PACELINE_SOURCE_DIR) / "tests/goldens" / GetParam() / "target", pool_)),
        text_(text_of(static_cast<size_t>(length_ + kLastRows))) {
    // Not the same sentence all the time.
    for (size_t i = 0; i < text_.size(); ++i)
      if (i % 97 == 50) text_[i] = static_cast<TokenId>(128 + (i * i / 97) % 128);
  }

  void read(Forward& forward, KvCache& kv) const {
    while (kv.length() < length_) {
      const int32_t rows = std::min(kMaxForwardRows, length_ - kv.length());
      const SeqRows seq{&kv, rows};
      forward.run(
          {std::span(text_).subspan(static_cast<size_t>(kv.length()), static_cast<size_t>(rows)), {&seq, 1}, {}, {}});
    }
  }

  // The last rows, behind what was read.
  std::vector<float> logits(Forward& forward, KvCache& kv) const {
    kv.truncate(length_);
    std::vector<int32_t> rows(kLastRows);
    std::iota(rows.begin(), rows.end(), 0);
    const SeqRows seq{&kv, kLastRows};
    const ForwardOutput out =
        forward.run({std::span(text_).subspan(static_cast<size_t>(length_), kLastRows), {&seq, 1}, rows, {}});
    return {out.logits, out.logits + static_cast<int64_t>(kLastRows) * forward.config().vocab};
  }

  ThreadPool pool_;
  const int32_t length_;
  LoadedModel model_;
  std::vector<TokenId> text_;
};

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i)
    most = std::max(most, std::fabs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  return most;
}

TEST_P(LongContext, EveryTableIsNearAttentionInDouble) {
  const std::vector<const kernels::CpuTable*>& tables = kernels::cpu_tables();
  const auto weights = as_gemma4(model_.weights);
  kernels::CpuOps best(*tables.front(), pool_);
  Gemma4Forward reader(weights, best, Precision::f32, float32_apart());
  KvCache kv(reader.kv_layout(), length_ + kLastRows);
  read(reader, kv);
  DoubleAttentionOps exact(*tables.back(), pool_);
  Gemma4Forward truth(weights, exact, Precision::f32, float32_apart());
  const std::vector<float> want = logits(truth, kv);
  for (const kernels::CpuTable* table : tables) {
    SCOPED_TRACE(table->name);
    kernels::CpuOps ops(*table, pool_);
    Gemma4Forward forward(weights, ops, Precision::f32, float32_apart());
    const double off = largest_difference(logits(forward, kv), want);
    DoubleAttentionOps measured(*table, pool_);
    Gemma4Forward beside(weights, measured, Precision::f32, float32_apart());
    (void)logits(beside, kv);
    fmt::print("{} behind {} tokens, {:<16} attention off by {:.1e} of itself, logits by {:.1e}\n", GetParam(), length_,
               table->name, measured.worst(), off);
    EXPECT_LE(measured.worst(), 2e-6);
    EXPECT_LE(off, kF32Tolerance);
  }
}

// Each table reads all of it by itself: what it gets at the end, rounding upon rounding.
TEST_P(LongContext, TablesThatReadItAllAgree) {
  const auto weights = as_gemma4(model_.weights);
  std::vector<float> want;
  for (const kernels::CpuTable* table : kernels::cpu_tables()) {
    // The portable kernels would take a quarter of an hour.
    if (table == kernels::cpu_tables().back()) continue;
    kernels::CpuOps ops(*table, pool_);
    Gemma4Forward forward(weights, ops, Precision::f32, float32_apart());
    KvCache kv(forward.kv_layout(), length_ + kLastRows);
    read(forward, kv);
    const std::vector<float> got = logits(forward, kv);
    if (want.empty()) want = got;
    const double off = largest_difference(got, want);
    fmt::print("{} behind {} tokens, {:<16} read by itself: logits off by {:.1e}\n", GetParam(), length_, table->name,
               off);
    EXPECT_LE(off, kF32Tolerance) << table->name;
  }
}

INSTANTIATE_TEST_SUITE_P(Goldens, LongContext, testing::Values("dense", "ple"),
                         [](const auto& run) { return std::string(run.param); });

}  // namespace
}  // namespace paceline
