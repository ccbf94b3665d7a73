// Keys and values joined, and in codes: heads() and attention() together against float32 apart; rows' bits alone and in
// company; and the tables' integer products against the portable ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "kernels/cpu_ops.h"
#include "kernels/kv_rotation.h"
#include "kernels/random_matrix.h"

namespace paceline::kernels {
namespace {

// Raw projections of a sequence, V being that of K, and what attention makes of its last rows.
class RawSequence {
 public:
  RawSequence(const HeadShape& shape, int32_t rotated, int32_t length, uint32_t seed)
      : shape_(shape), length_(length), random_(seed) {
    q_ = random_rows(length, shape.heads * shape.head_dim, random_);
    k_ = random_rows(length, shape.kv_heads * shape.head_dim, random_);
    q_weight_ = random_rows(1, shape.head_dim, random_);
    k_weight_ = random_rows(1, shape.head_dim, random_);
    for (float& w : q_weight_) w *= 2.0f / std::sqrt(static_cast<float>(shape.head_dim));
    const int32_t pairs = shape.head_dim / 2;
    for (int32_t pos = 0; pos < length; ++pos)
      for (int32_t i = 0; i < pairs; ++i) {
        const float angle = i < rotated / 2 ? static_cast<float>(pos) * std::pow(0.1f, static_cast<float>(i)) : 0.0f;
        cos_.push_back(std::cos(angle));
        sin_.push_back(std::sin(angle));
      }
  }

  [[nodiscard]] int64_t row_floats() const { return static_cast<int64_t>(shape_.heads) * shape_.head_dim; }
  [[nodiscard]] int32_t length() const { return length_; }
  [[nodiscard]] const float* q_weight() const { return q_weight_.data(); }
  [[nodiscard]] const float* k_weight() const { return k_weight_.data(); }
  float* key(int32_t pos) { return k_.data() + static_cast<int64_t>(pos) * shape_.kv_heads * shape_.head_dim; }

  // A cache of so many positions.
  struct Pages {
    std::vector<std::byte> memory;
    std::vector<int32_t> numbers;
    KvPageBytes bytes;
    [[nodiscard]] KvPages pages() const {
      return pages_in_a_row(const_cast<std::byte*>(memory.data()), bytes, numbers.data());
    }
  };
  [[nodiscard]] Pages new_pages(const HeadShape& shape) const {
    Pages made;
    made.bytes = kv_page_bytes(shape);
    for (int32_t page = 0; page * kPageTokens < length_; ++page) made.numbers.push_back(page);
    made.memory.resize(made.numbers.size() * (made.bytes.keys + made.bytes.values));
    return made;
  }

  // Rows [first, first + count) in one call, keys of all before being there. Their attention.
  std::vector<float> run(CpuOps& ops, const HeadShape& shape, const Pages& pages, int32_t first, int32_t count) const {
    std::vector<float> q(q_.begin() + first * row_floats(), q_.begin() + (first + count) * row_floats());
    std::vector<float> out(q.size(), NAN);
    const SeqSpan seq{0, count, first, pages.pages()};
    ops.attend(heads_args(shape, q.data(), first, {&seq, 1}), {shape, q.data(), out.data(), 0, true, {&seq, 1}});
    return out;
  }

  HeadsArgs heads_args(const HeadShape& shape, float* q, int32_t first, std::span<const SeqSpan> seqs) const {
    HeadsArgs heads;
    heads.shape = shape;
    heads.q = q;
    heads.k = heads.v = k_.data() + static_cast<int64_t>(first) * shape.kv_heads * shape.head_dim;
    heads.q_weight = q_weight_.data();
    heads.k_weight = k_weight_.data();
    heads.cos = cos_.data() + static_cast<int64_t>(first) * shape.head_dim / 2;
    heads.sin = sin_.data() + static_cast<int64_t>(first) * shape.head_dim / 2;
    heads.eps = 1e-6f;
    heads.seqs = seqs;
    return heads;
  }

  // The attention of all rows from `from` on, so many a call; of those before it only keys and values are made.
  std::vector<float> run_all(CpuOps& ops, const HeadShape& shape, int32_t at_once, int32_t from = 0) const {
    const Pages pages = new_pages(shape);
    std::vector<float> all;
    for (int32_t first = 0; first < from; first += at_once) {
      const int32_t count = std::min(at_once, from - first);
      std::vector<float> q(q_.begin() + first * row_floats(), q_.begin() + (first + count) * row_floats());
      const SeqSpan seq{0, count, first, pages.pages()};
      ops.heads(heads_args(shape, q.data(), first, {&seq, 1}));
    }
    for (int32_t first = from; first < length_; first += at_once) {
      const std::vector<float> part = run(ops, shape, pages, first, std::min(at_once, length_ - first));
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }

 private:
  HeadShape shape_;
  int32_t length_;
  std::mt19937 random_;
  std::vector<float> q_, k_, q_weight_, k_weight_, cos_, sin_;
};

// The root of the mean square of a - b, over that of b.
double error_of(const std::vector<float>& a, const std::vector<float>& b) {
  double wrong = 0, all = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double off = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    wrong += off * off;
    all += static_cast<double>(b[i]) * static_cast<double>(b[i]);
  }
  return std::sqrt(wrong / all);
}

HeadShape kept_in(HeadShape shape, DType dtype, int32_t joined) {
  shape.kv_dtype = dtype;
  shape.joined = joined;
  return shape;
}

struct KvForm {
  DType dtype;
  bool joined;
  double error;  // at most, beside float32 apart
};

constexpr KvForm kKvForms[] = {{DType::f32, true, 1e-5},
                               {DType::bf16, false, 6e-3},
                               {DType::bf16, true, 6e-3},
                               {DType::i8, false, 3e-2},
                               {DType::i8, true, 3e-2}};

// Heads, KV heads, numbers of a head, how many are rotated.
constexpr std::array<std::array<int32_t, 4>, 5> kRawShapes{
    {{4, 2, 32, 8}, {3, 1, 64, 16}, {8, 1, 128, 32}, {16, 1, 512, 128}, {2, 2, 16, 4}}};

class AttentionFormatsTest : public testing::TestWithParam<const CpuTable*> {};

TEST_P(AttentionFormatsTest, EveryFormIsNearFloat32Apart) {
  ThreadPool pool(2);
  CpuOps ops(*GetParam(), pool);
  for (const auto& [heads, kv_heads, dim, rotated] : kRawShapes) {
    const HeadShape apart{heads, kv_heads, dim, DType::f32};
    const RawSequence raw(apart, rotated, dim > 128 ? 70 : 150, 31);
    const std::vector<float> want = raw.run_all(ops, apart, raw.length());
    for (const KvForm& form : kKvForms) {
      const auto got = raw.run_all(ops, kept_in(apart, form.dtype, form.joined ? rotated : 0), raw.length());
      EXPECT_LE(error_of(got, want), form.error)
          << dim << " " << dtype_name(form.dtype) << (form.joined ? " joined" : "");
    }
  }
}

TEST_P(AttentionFormatsTest, RowsDoNotDependOnTheirCompanyOrThreads) {
  ThreadPool one(1), three(3);
  CpuOps ops(*GetParam(), one), threaded(*GetParam(), three);
  for (const auto& [heads, kv_heads, dim, rotated] : kRawShapes) {
    if (dim > (GetParam() == cpu_tables().back() ? 64 : 128)) continue;
    const HeadShape apart{heads, kv_heads, dim, DType::f32};
    constexpr int32_t kFrom = kChunkPages * kPageTokens - 20;
    const RawSequence raw(apart, rotated, kFrom + 50, 32);
    for (const KvForm& form : kKvForms) {
      const HeadShape shape = kept_in(apart, form.dtype, form.joined ? rotated : 0);
      const std::vector<float> want = raw.run_all(ops, shape, raw.length(), kFrom);
      SCOPED_TRACE(std::to_string(dim) + " " + dtype_name(form.dtype) + (form.joined ? " joined" : ""));
      for (const int32_t at_once : {1, 7, 256}) {
        const std::vector<float> got = raw.run_all(at_once == 7 ? threaded : ops, shape, at_once, kFrom);
        ASSERT_EQ(0, std::memcmp(got.data(), want.data(), want.size() * sizeof(float))) << at_once << " rows a call";
      }
    }
  }
}

// What a format costs is the same after 131,072 positions as after 1,024. Float32 apart stands for the truth: it is
// within a millionth of attention in double at either (attention_chunks_test.cc), and formats cost thousands of that.
TEST_P(AttentionFormatsTest, ErrorsOfFormatsDoNotGrowWithTheContext) {
  ThreadPool pool(2);
  CpuOps ops(*GetParam(), pool);
  const HeadShape apart{4, 1, 16, DType::f32};
  constexpr int32_t kRotated = 4, kRows = 16;  // several rows, so that chance does not decide
  std::vector<std::vector<double>> errors(std::size(kKvForms));
  for (const int32_t chunks : {1, 128}) {
    const int32_t length = chunks * kChunkPages * kPageTokens;
    const RawSequence raw(apart, kRotated, length, 38);
    const std::vector<float> want = raw.run_all(ops, apart, 4096, length - kRows);
    for (size_t i = 0; i < errors.size(); ++i) {
      const HeadShape shape = kept_in(apart, kKvForms[i].dtype, kKvForms[i].joined ? kRotated : 0);
      errors[i].push_back(error_of(raw.run_all(ops, shape, 4096, length - kRows), want));
    }
  }
  for (size_t i = 0; i < errors.size(); ++i) {
    const KvForm& form = kKvForms[i];
    const std::string name = std::string(dtype_name(form.dtype)) + (form.joined ? " joined" : "");
    std::printf("%s, %-12s off by %.2e after 1,024 positions, %.2f times that after 131,072\n", GetParam()->name,
                name.c_str(), errors[i][0], errors[i][1] / errors[i][0]);
    // Of float32 it is the sums' order that is seen, and either is next to nothing.
    EXPECT_LE(errors[i][1], form.dtype == DType::f32 ? 1e-6 : 2 * errors[i][0]) << name;
  }
}

// Rows that only read, as a drafter's: they have a weight for the keys, and none of their own.
TEST_P(AttentionFormatsTest, ReadersSeeWhatWasWritten) {
  ThreadPool pool(2);
  CpuOps ops(*GetParam(), pool);
  constexpr int32_t kNumbers = 64, kLength = 100;
  const HeadShape apart{4, 1, kNumbers, DType::f32};
  const RawSequence raw(apart, 16, kLength, 33);
  std::mt19937 random(34);
  const std::vector<float> q = random_rows(1, 4 * kNumbers, random), cos(kNumbers / 2, 1.0f), sin(kNumbers / 2, 0.0f);
  const auto read = [&](const HeadShape& shape) {
    const RawSequence::Pages pages = raw.new_pages(shape);
    (void)raw.run(ops, shape, pages, 0, kLength);
    std::vector<float> mine = q, out(q.size());
    const SeqSpan seq{0, 1, kLength, pages.pages()};
    HeadsArgs args;
    args.shape = shape;
    args.q = mine.data();
    args.q_weight = raw.q_weight();
    args.k_weight = raw.k_weight();
    args.cos = cos.data();
    args.sin = sin.data();
    args.eps = 1e-6f;
    args.seqs = {&seq, 1};
    ops.attend(args, {shape, mine.data(), out.data(), 0, false, {&seq, 1}});
    return out;
  };
  const std::vector<float> want = read(apart);
  EXPECT_LE(error_of(read(kept_in(apart, DType::f32, 16)), want), 1e-5);
  EXPECT_LE(error_of(read(kept_in(apart, DType::i8, 16)), want), 3e-2);
}

TEST_P(AttentionFormatsTest, IntegerProductsAreThePortableOnes) {
  const CpuTable& table = *GetParam();
  const CpuTable& portable = *cpu_tables().back();
  std::mt19937 random(35);
  std::uniform_int_distribution<int> code(-127, 127), share(0, 255);
  for (const int32_t cols : {4, 8, 16, 32, 64, 96, 128, 384, 512})
    for (const int32_t rows : {1, 2, 3, 4, 7, 16, 41}) {
      const int64_t stride = cols + 32;
      std::vector<int8_t> w(static_cast<size_t>(kPageTokens * stride)), x(static_cast<size_t>(rows * cols));
      std::vector<uint8_t> shares(static_cast<size_t>(rows * kPageTokens));
      for (int8_t& v : w) v = static_cast<int8_t>(code(random));
      for (int8_t& v : x) v = static_cast<int8_t>(code(random));
      for (uint8_t& v : shares) v = static_cast<uint8_t>(share(random));
      // The largest there are.
      std::fill_n(w.begin(), 2 * stride, int8_t{-127});
      for (int32_t t = 0; t < kPageTokens; ++t) w[static_cast<size_t>(t * stride)] = -127;
      std::fill_n(x.begin(), cols, int8_t{127});
      std::fill_n(shares.begin(), kPageTokens, uint8_t{255});
      std::vector<int32_t> got(static_cast<size_t>(rows * std::max(cols, kPageTokens))), want(got.size());
      std::vector<int32_t> sums;
      for (int32_t r = 0; r < rows; ++r)
        sums.push_back(std::accumulate(x.begin() + r * cols, x.begin() + (r + 1) * cols, 0));
      for (const CodeOrder order : {CodeOrder::rows, CodeOrder::pairs, CodeOrder::eights}) {
        if (order != CodeOrder::rows && (!table.interleaves_codes || cols % 16 != 0)) continue;
        const CodeRows page{w.data(), stride, cols, rows % 2 == 0 ? w.data() : nullptr, order};
        if (order != CodeOrder::eights) {
          table.code_scores(page, x.data(), sums.data(), rows, got.data());
          portable.code_scores(page, x.data(), sums.data(), rows, want.data());
          ASSERT_EQ(got, want) << "scores, " << rows << " rows of " << cols << ", order " << static_cast<int>(order);
        }
        table.code_mix(page, shares.data(), rows, got.data());
        portable.code_mix(page, shares.data(), rows, want.data());
        ASSERT_EQ(got, want) << "values, " << rows << " rows of " << cols << ", order " << static_cast<int>(order);
      }
    }
}

TEST_P(AttentionFormatsTest, CodesAreThePortableOnes) {
  const CpuTable& portable = *cpu_tables().back();
  std::mt19937 random(37);
  for (const int32_t count : {8, 32, 96, 128, 512})
    for (const float size : {0.0f, 1e-44f, 1e-30f, 1.0f, 1e30f, INFINITY}) {
      std::vector<float> x = random_rows(1, count, random);
      for (float& v : x) v *= size;
      x[3] = x[5] * 0.5f;
      std::vector<int8_t> got(x.size(), 1), want(x.size(), 2);
      const float scale = GetParam()->encode(x.data(), count, got.data());
      const float expected = portable.encode(x.data(), count, want.data());
      EXPECT_TRUE(scale == expected || (std::isnan(scale) && std::isnan(expected))) << count << " " << size;
      EXPECT_EQ(got, want) << count << " " << size;
    }
}

// A key in codes that is not a number is passed on, as one in numbers is.
TEST_P(AttentionFormatsTest, WhatIsNotANumberIsPassedOn) {
  ThreadPool pool(1);
  CpuOps ops(*GetParam(), pool);
  for (const int32_t joined : {0, 8}) {
    const HeadShape shape{2, 1, 32, DType::i8, joined};
    RawSequence raw(shape, 8, 90, 36);
    raw.key(70)[3] = NAN;
    const std::vector<float> out = raw.run_all(ops, shape, 90);
    for (int32_t row = 0; row < 90; ++row)
      for (int64_t i = 0; i < raw.row_floats(); ++i)
        ASSERT_EQ(std::isnan(out[static_cast<size_t>(row * raw.row_floats() + i)]), row >= 70) << row;
  }
}

// Nor does it change a row that does not see it, in the same page.
TEST_P(AttentionFormatsTest, WhatIsNotANumberIsNothingToThoseBeforeIt) {
  ThreadPool pool(1);
  CpuOps ops(*GetParam(), pool);
  for (const DType dtype : {DType::f32, DType::bf16, DType::i8})
    for (const int32_t joined : {0, 8, 16})
      for (const float wrong : {NAN, INFINITY}) {
        SCOPED_TRACE(testing::Message() << dtype_name(dtype) << ", joined " << joined << ", " << wrong);
        const HeadShape shape{2, 1, joined == 16 ? 64 : 32, dtype, joined};
        RawSequence raw(shape, joined == 16 ? 16 : 8, 90, 36);
        const std::vector<float> want = raw.run_all(ops, shape, 90);
        raw.key(70)[3] = wrong;
        const std::vector<float> got = raw.run_all(ops, shape, 90);
        for (int64_t i = 0; i < 90 * raw.row_floats(); ++i) {
          if (i < 70 * raw.row_floats())
            ASSERT_EQ(got[static_cast<size_t>(i)], want[static_cast<size_t>(i)]) << i;
          else
            ASSERT_TRUE(std::isnan(got[static_cast<size_t>(i)])) << i;
        }
      }
}

// Sums of codes are exact, and what surrounds them is the same.
TEST(AttentionTilesTest, CodesGiveTheSameBitsWithTilesAndWithout) {
  const auto tiles = find_cpu_table("avx512-amx"), without = find_cpu_table("avx512");
  if (!tiles.ok() || !without.ok()) GTEST_SKIP() << "this processor has no tiles";
  ThreadPool pool(2);
  CpuOps with_tiles(**tiles, pool), ops(**without, pool);
  for (const auto& [heads, kv_heads, dim, joined] :
       {std::array{6, 2, 64, 0}, std::array{16, 1, 128, 0}, std::array{16, 1, 256, 64}}) {
    const HeadShape apart{heads, kv_heads, dim, DType::f32};
    const HeadShape shape = kept_in(apart, DType::i8, joined);
    const RawSequence raw(apart, dim / 4, 150, 39);
    const std::vector<float> want = raw.run_all(ops, shape, raw.length());
    for (const int32_t at_once : {1, 3, 150}) {
      const std::vector<float> got = raw.run_all(with_tiles, shape, at_once);
      ASSERT_EQ(0, std::memcmp(got.data(), want.data(), want.size() * sizeof(float)))
          << dim << " numbers, " << at_once << " rows a call";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, AttentionFormatsTest, testing::ValuesIn(cpu_tables()), [](const auto& run) {
  std::string name = run.param->name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace paceline::kernels
