// Every table's norms, rotations and activations against the portable table's, at all lengths around a vector's; and
// that an element's bits do not depend on where in a vector it lies, since threads cut rows anywhere.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <utility>

#include "kernels/cpu_table.h"
#include "kernels/random_matrix.h"

namespace paceline::kernels {
namespace {

using Row = std::vector<float>;

constexpr float kInfinity = INFINITY;
// Around every vector length there is (4, 8, 16, and two of each), and a few longer ones.
std::vector<int32_t> lengths() {
  std::vector<int32_t> all(70);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int32_t>(i) + 1;
  for (const int32_t more : {127, 128, 129, 255, 511, 1000}) all.push_back(more);
  return all;
}

bool same_bits(const float* a, const float* b, size_t count) { return std::memcmp(a, b, count * sizeof(float)) == 0; }

class ElementwiseTest : public testing::TestWithParam<const CpuTable*> {
 protected:
  Row row(int32_t length, float scale = 1) {
    Row x = random_rows(1, length, random_);
    for (float& v : x) v *= scale;
    return x;
  }

  // Relative to 1, and to larger values where they are larger.
  static void expect_close(const Row& got, const Row& want, double tolerance) {
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i) {
      const double bound = tolerance * std::max(1.0, std::fabs(static_cast<double>(want[i])));
      ASSERT_NEAR(static_cast<double>(got[i]), static_cast<double>(want[i]), bound)
          << "element " << i << " of " << got.size();
    }
  }

  // y[i] = f(y[i], x[i]) has the same bits for all and for any piece.
  template <class F>
  void expect_cuts_do_not_matter(const Row& y, const Row& x, F f) {
    Row whole = y;
    f(whole.data(), x.data(), static_cast<int64_t>(whole.size()));
    Row pieces = y;
    for (size_t at = 0; at < y.size();) {
      const size_t count = std::min(y.size() - at, std::uniform_int_distribution<size_t>(1, 37)(random_));
      f(pieces.data() + at, x.data() + at, static_cast<int64_t>(count));
      at += count;
    }
    ASSERT_TRUE(same_bits(whole.data(), pieces.data(), whole.size()));
  }

  const CpuTable& table_ = *GetParam();
  const CpuTable& oracle_ = *cpu_tables().back();
  std::mt19937 random_{5};
};

TEST_P(ElementwiseTest, RmsNorm) {
  for (const int32_t width : lengths())
    for (const bool weighted : {true, false}) {
      const Row x = row(width, 3), weight = row(width);
      const float* w = weighted ? weight.data() : nullptr;
      Row got(x.size(), NAN), want(x.size(), NAN), in_place = x;
      table_.rms_norm(x.data(), w, got.data(), width, 1e-6f, 0.7f);
      oracle_.rms_norm(x.data(), w, want.data(), width, 1e-6f, 0.7f);
      ASSERT_NO_FATAL_FAILURE(expect_close(got, want, 2e-6));
      table_.rms_norm(in_place.data(), w, in_place.data(), width, 1e-6f, 0.7f);
      ASSERT_TRUE(same_bits(in_place.data(), got.data(), got.size()));
    }
  // eps alone keeps zeros zero.
  Row zeros(33, 0.0f);
  table_.rms_norm(zeros.data(), nullptr, zeros.data(), 33, 1e-6f, 1.0f);
  for (const float v : zeros) EXPECT_EQ(v, 0.0f);
}

TEST_P(ElementwiseTest, AddNorm) {
  for (const int32_t width : lengths()) {
    const Row x = row(width), branch = row(width, 5), weight = row(width);
    Row got = x, want = x;
    table_.add_norm(got.data(), branch.data(), weight.data(), width, 1e-6f, 0.6f);
    oracle_.add_norm(want.data(), branch.data(), weight.data(), width, 1e-6f, 0.6f);
    ASSERT_NO_FATAL_FAILURE(expect_close(got, want, 3e-6));
  }
}

TEST_P(ElementwiseTest, Rope) {
  for (const int32_t half : lengths()) {
    Row cos(static_cast<size_t>(half)), sin(cos.size());
    for (size_t i = 0; i < cos.size(); ++i) {
      const float angle = std::uniform_real_distribution<float>(0, 6)(random_);
      cos[i] = std::cos(angle);
      sin[i] = std::sin(angle);
    }
    const Row x = row(2 * half);
    Row got = x, want = x;
    table_.rope(got.data(), cos.data(), sin.data(), 2 * half);
    oracle_.rope(want.data(), cos.data(), sin.data(), 2 * half);
    ASSERT_NO_FATAL_FAILURE(expect_close(got, want, 1e-6));
  }
}

TEST_P(ElementwiseTest, GeluMulAndSiluMul) {
  for (const auto mul : {&CpuTable::gelu_mul, &CpuTable::silu_mul}) {
    for (const int32_t count : lengths()) {
      const Row y = row(count, 4), x = row(count);
      Row got = y, want = y;
      (table_.*mul)(got.data(), x.data(), count);
      (oracle_.*mul)(want.data(), x.data(), count);
      ASSERT_NO_FATAL_FAILURE(expect_close(got, want, 1e-6));
    }
    expect_cuts_do_not_matter(row(500, 4), row(500), table_.*mul);
    // Far out it is 0 or x itself.
    Row far = {-1e4f, -100, -20, 20, 100, 1e4f, 0};
    (table_.*mul)(far.data(), Row(7, 1.0f).data(), 7);
    expect_close(far, {0, 0, 0, 20, 100, 1e4f, 0}, 1e-6);
  }
  // Their definitions, and that they are two.
  Row gelu = {1, -1}, silu = gelu;
  table_.gelu_mul(gelu.data(), Row(2, 1.0f).data(), 2);
  table_.silu_mul(silu.data(), Row(2, 1.0f).data(), 2);
  expect_close(gelu, {0.841192f, -0.158808f}, 1e-6);
  expect_close(silu, {0.731059f, -0.268941f}, 1e-6);
}

TEST_P(ElementwiseTest, AddScaledAndBlend) {
  for (const int32_t count : lengths()) {
    const Row y = row(count), x = row(count);
    Row got = y, want = y;
    table_.add_scaled(got.data(), x.data(), 0.7f, count);
    oracle_.add_scaled(want.data(), x.data(), 0.7f, count);
    ASSERT_NO_FATAL_FAILURE(expect_close(got, want, 1e-6));
    table_.blend(got.data(), 0.3f, x.data(), 1.7f, count);
    oracle_.blend(want.data(), 0.3f, x.data(), 1.7f, count);
    ASSERT_NO_FATAL_FAILURE(expect_close(got, want, 1e-6));
  }
  expect_cuts_do_not_matter(row(500), row(500),
                            [&](float* y, const float* x, int64_t count) { table_.add_scaled(y, x, 0.7f, count); });
  expect_cuts_do_not_matter(row(500), row(500),
                            [&](float* y, const float* x, int64_t count) { table_.blend(y, 0.3f, x, 1.7f, count); });
  // What attention relies on: keeping all and adding nothing changes no bit.
  const Row y = row(77);
  Row kept = y;
  table_.blend(kept.data(), 1.0f, Row(77, 0.0f).data(), 1.0f, 77);
  EXPECT_TRUE(same_bits(kept.data(), y.data(), y.size()));
}

TEST_P(ElementwiseTest, Softcap) {
  for (const int32_t count : lengths()) {
    const Row y = row(count, 40);
    Row got = y, want = y;
    table_.softcap(got.data(), 30.0f, count);
    oracle_.softcap(want.data(), 30.0f, count);
    // tanh is off by about 1e-7, times 30.
    ASSERT_NO_FATAL_FAILURE(expect_close(got, want, 1e-5));
  }
  expect_cuts_do_not_matter(row(500, 40), row(500),
                            [&](float* y, const float*, int64_t count) { table_.softcap(y, 30.0f, count); });
  Row far = {-kInfinity, -1e9f, 1e9f, kInfinity, 0};
  table_.softcap(far.data(), 30.0f, 5);
  expect_close(far, {-30, -30, 30, 30, 0}, 1e-6);
}

TEST_P(ElementwiseTest, MaxOf) {
  for (const int32_t count : lengths()) {
    // All below zero, so that no padding may win; the largest at every place.
    Row x = row(count);
    for (float& v : x) v = -1 - std::fabs(v);
    for (size_t i = 0; i < x.size(); ++i) {
      const float kept = std::exchange(x[i], -0.5f);
      ASSERT_EQ(table_.max_of(x.data(), count), -0.5f) << i << " of " << count;
      x[i] = kept;
    }
  }
  EXPECT_EQ(table_.max_of(Row(13, -kInfinity).data(), 13), -kInfinity);
}

TEST_P(ElementwiseTest, ExpSum) {
  for (const int32_t count : lengths()) {
    Row x = row(count, 6);
    for (size_t i = 0; i < x.size(); ++i)
      if (i % 5 == 3) x[i] = -kInfinity;
    const float top = *std::max_element(x.begin(), x.end());
    Row got = x, want = x;
    const float sum = table_.exp_sum(got.data(), top, count), wanted = oracle_.exp_sum(want.data(), top, count);
    ASSERT_NO_FATAL_FAILURE(expect_close(got, want, 5e-7));
    ASSERT_NEAR(sum, wanted, 2e-6f * wanted);
    for (size_t i = 0; i < x.size(); ++i) {
      if (x[i] != -kInfinity && x[i] != top) continue;
      ASSERT_EQ(got[i], x[i] == top ? 1.0f : 0.0f) << "element " << i << " of " << count;
    }
  }
  // Nothing at all.
  Row none(64, -kInfinity);
  EXPECT_EQ(table_.exp_sum(none.data(), 1.0f, 64), 0.0f);
  EXPECT_EQ(none, Row(64, 0.0f));
  // Each element alone, as among others.
  const Row x = row(64, 6);
  Row all = x;
  table_.exp_sum(all.data(), 20.0f, 64);
  for (size_t i = 0; i < x.size(); ++i) {
    float one = x[i];
    const float sum = table_.exp_sum(&one, 20.0f, 1);
    ASSERT_TRUE(same_bits(&one, &all[i], 1));
    ASSERT_TRUE(same_bits(&sum, &one, 1));
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, ElementwiseTest, testing::ValuesIn(cpu_tables()), [](const auto& run) {
  std::string name = run.param->name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace paceline::kernels
