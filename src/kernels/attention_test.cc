// CpuOps::attention against a plain softmax in double, on random pages; and its rows' bits alone and in company.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <string>

#include "kernels/attention_scene_for_tests.h"
#include "kernels/cpu_ops.h"
#include "kernels/random_matrix.h"

namespace paceline::kernels {
namespace {

std::vector<AttentionCase> attention_cases() {
  // Page borders, the very start, and rings that have come round.
  const std::vector<std::pair<int32_t, int32_t>> rows = {{0, 3}, {62, 5}, {255, 1}, {130, 19}, {1, 1}};
  std::vector<AttentionCase> all;
  for (const DType dtype : {DType::f32, DType::bf16})
    for (const int32_t window : {0, 1, 24, 64, 100})
      for (const bool sees_self : {true, false})
        for (const auto& [heads, kv_heads, dim] : {std::tuple{4, 2, 32}, {3, 1, 16}, {2, 2, 48}})
          all.push_back({{heads, kv_heads, dim, dtype}, window, sees_self, rows});
  // Wide heads, and more heads to a KV head than a block takes.
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const int32_t dim : {64, 128, 256, 512})
      all.push_back({{2, 1, dim, dtype}, dim == 128 ? 70 : 0, true, {{0, 2}, {126, 9}}});
    all.push_back({{20, 1, 32, dtype}, 0, true, {{60, 6}}});
    all.push_back({{40, 2, 16, dtype}, 24, true, {{60, 6}, {200, 2}}});
  }
  return all;
}

class AttentionTest : public testing::TestWithParam<const CpuTable*> {};

TEST_P(AttentionTest, IsSoftmaxOfWhatTheRowSees) {
  std::mt19937 random(11);
  ThreadPool pool(2);
  for (const AttentionCase& c : attention_cases()) {
    SCOPED_TRACE(c.text());
    const Scene scene(c, random);
    const std::vector<float> got = scene.run(*GetParam(), pool);
    // float32: roundings of sums over head_dim and keys. bf16: shares are rounded to 8 bits before they meet the
    // values, each by up to 2^-9 of itself; the values are about 1, seldom 4.
    const double tolerance = c.shape.kv_dtype == DType::f32 ? 2e-5 : 0x1p-9 * 4;
    for (size_t s = 0; s < c.rows.size(); ++s)
      for (int32_t row = 0; row < c.rows[s].second; ++row)
        for (int32_t head = 0; head < c.shape.heads; ++head) {
          const std::vector<double> want = scene.want(s, row, head);
          const float* out = got.data() + (scene.seqs()[s].first_row + row) * scene.row_floats() +
                             static_cast<int64_t>(head) * c.shape.head_dim;
          for (size_t i = 0; i < want.size(); ++i)
            ASSERT_NEAR(static_cast<double>(out[i]), want[i], tolerance)
                << "position " << c.rows[s].first + row << " head " << head << " element " << i;
        }
  }
}

TEST_P(AttentionTest, RowsDoNotDependOnTheirCompany) {
  std::mt19937 random(12);
  ThreadPool one(1), three(3);
  CpuOps ops(*GetParam(), one);
  for (const AttentionCase& c : attention_cases()) {
    SCOPED_TRACE(c.text());
    const Scene scene(c, random);
    const std::vector<float> all = scene.run(*GetParam(), one);
    const std::vector<float> threaded = scene.run(*GetParam(), three);
    ASSERT_EQ(0, std::memcmp(all.data(), threaded.data(), all.size() * sizeof(float))) << "three threads";
    for (const SeqSpan& seq : scene.seqs())
      for (int32_t row = 0; row < seq.count;) {
        // By ones, and by some more.
        const int32_t count = seq.first_row % 2 == 0
                                  ? 1
                                  : std::min(seq.count - row, std::uniform_int_distribution<int32_t>(1, 7)(random));
        const std::vector<float> alone = scene.run_alone(ops, seq, row, count);
        ASSERT_EQ(0, std::memcmp(alone.data(), all.data() + (seq.first_row + row) * scene.row_floats(),
                                 alone.size() * sizeof(float)))
            << "position " << seq.first_pos + row << ", " << count << " rows";
        row += count;
      }
  }
}

// Huge scores: the running maximum keeps exponentials finite, and far smaller keys count for exactly nothing.
TEST_P(AttentionTest, LargeScoresStayFinite) {
  std::mt19937 random(13);
  ThreadPool pool(1);
  const HeadShape shape{1, 1, 16, DType::f32};
  const RandomPages pages(shape, 200, 0, random);
  std::vector<float> q(16, 0.0f);
  q[0] = 1e4f;
  int32_t best = 0;
  for (int32_t pos = 0; pos < 200; ++pos)
    if (pages.key(pos, 0, 0) > pages.key(best, 0, 0)) best = pos;
  std::vector<float> out(16, NAN);
  const SeqSpan seq{0, 1, 199, pages.pages()};
  CpuOps ops(*GetParam(), pool);
  ops.attention({shape, q.data(), out.data(), 0, true, {&seq, 1}});
  for (int32_t i = 0; i < 16; ++i)
    EXPECT_NEAR(static_cast<double>(out[static_cast<size_t>(i)]), pages.value(best, 0, i), 1e-6);
}

// One key that is not a number among many, or no other: the rows that see it are not numbers, and no others.
TEST_P(AttentionTest, WhatIsNotANumberIsPassedOn) {
  std::mt19937 random(14);
  ThreadPool pool(1);
  CpuOps ops(*GetParam(), pool);
  for (const DType dtype : {DType::f32, DType::bf16})
    for (const int32_t broken : {0, 70}) {
      const HeadShape shape{1, 1, 16, dtype};
      const RandomPages pages(shape, 200, 0, random);
      const KvPages kv = pages.pages();
      const int32_t page = broken / kPageTokens, at = broken % kPageTokens;
      for (int32_t i = 0; i < 16; ++i) {
        if (dtype == DType::f32) {
          static_cast<float*>(kv.keys_of(page))[at * 16 + i] = NAN;
        } else {
          static_cast<uint16_t*>(kv.keys_of(page))[at * 16 + i] = f32_to_bf16(NAN);
        }
      }
      for (const int32_t pos : {0, 60, 69, 70, 71, 199}) {
        const std::vector<float> q(16, 0.5f);
        std::vector<float> out(16, 0.0f);
        const SeqSpan seq{0, 1, pos, kv};
        ops.attention({shape, q.data(), out.data(), 0, true, {&seq, 1}});
        for (const float value : out) EXPECT_EQ(std::isnan(value), pos >= broken) << broken << " " << pos;
      }
    }
}

// Values with and without a norm, and heads of which only the first numbers are rotated.
TEST_P(AttentionTest, HeadsAreNormedAndRotatedAsTold) {
  constexpr int32_t kHeads = 2, kOneHead = 48, kPos = 5;
  std::mt19937 random(4);
  ThreadPool pool(1);
  CpuOps ops(*GetParam(), pool);
  const std::vector<float> q_weight = random_rows(1, kOneHead, random), k_weight = random_rows(1, kOneHead, random);
  const auto normed = [](const float* x, const float* weight) {
    double squares = 0;
    for (int32_t i = 0; i < kOneHead; ++i) squares += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    std::vector<double> out(kOneHead);
    for (int32_t i = 0; i < kOneHead; ++i)
      out[static_cast<size_t>(i)] = static_cast<double>(x[i]) / std::sqrt(squares / kOneHead + 1e-6) *
                                    (weight != nullptr ? static_cast<double>(weight[i]) : 1.0);
    return out;
  };
  for (const int32_t rotary : {0, 48, 16, 8})
    for (const bool norms_values : {true, false}) {
      const int32_t rotated = rotary == 0 ? kOneHead : rotary, pairs = rotated / 2;
      const std::vector<float> q = random_rows(1, kHeads * kOneHead, random), k = random_rows(1, kOneHead, random),
                               v = random_rows(1, kOneHead, random);
      std::vector<float> cos(static_cast<size_t>(pairs)), sin(cos.size()), turned = q;
      for (size_t i = 0; i < cos.size(); ++i) {
        cos[i] = std::cos(static_cast<float>(i) + 1);
        sin[i] = std::sin(static_cast<float>(i) + 1);
      }
      const auto rotate = [&](std::vector<double> x) {
        for (size_t i = 0; i < cos.size(); ++i) {
          const double a = x[i], b = x[i + cos.size()], c = static_cast<double>(cos[i]),
                       s = static_cast<double>(sin[i]);
          x[i] = a * c - b * s;
          x[i + cos.size()] = b * c + a * s;
        }
        return x;
      };
      std::vector<float> page(2 * kOneHead * kPageTokens);
      const std::span<const float> keys = std::span(page).first(kOneHead * kPageTokens),
                                   values = std::span(page).last(kOneHead * kPageTokens);
      const int32_t number = 0;
      const SeqSpan seq{0, 1, kPos, pages_in_a_row(page.data(), keys.size_bytes(), &number)};
      HeadsArgs args;
      args.shape = {kHeads, 1, kOneHead, DType::f32};
      args.q = turned.data();
      args.k = k.data();
      args.v = v.data();
      args.q_weight = q_weight.data();
      args.k_weight = k_weight.data();
      args.cos = cos.data();
      args.sin = sin.data();
      args.eps = 1e-6f;
      args.seqs = {&seq, 1};
      args.norms_values = norms_values;
      args.rotary = rotary;
      ops.heads(args);
      const std::vector<double> want_k = rotate(normed(k.data(), k_weight.data())), want_v = normed(v.data(), nullptr);
      for (int32_t h = 0; h < kHeads; ++h) {
        const std::vector<double> want_q = rotate(normed(q.data() + h * kOneHead, q_weight.data()));
        for (int32_t i = 0; i < kOneHead; ++i)
          ASSERT_NEAR(static_cast<double>(turned[static_cast<size_t>(h * kOneHead + i)]),
                      want_q[static_cast<size_t>(i)], 1e-5)
              << rotary << " rotated, head " << h << " element " << i;
      }
      for (int32_t i = 0; i < kOneHead; ++i) {
        const auto at = static_cast<size_t>(i);
        ASSERT_NEAR(static_cast<double>(keys[static_cast<size_t>(kPos * kOneHead + i)]), want_k[at], 1e-5) << i;
        const float value = values[static_cast<size_t>(i * kPageTokens + kPos)];
        if (norms_values)
          ASSERT_NEAR(static_cast<double>(value), want_v[at], 1e-5) << i;
        else
          ASSERT_EQ(value, v[at]) << i;
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Tables, AttentionTest, testing::ValuesIn(cpu_tables()), [](const auto& run) {
  std::string name = run.param->name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace paceline::kernels
