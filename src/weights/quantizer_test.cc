#include "weights/quantizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace paceline {
namespace {

struct Case {
  std::vector<float> weights;
  int64_t cols = 0;

  [[nodiscard]] WeightRows rows() const {
    return {reinterpret_cast<const std::byte*>(weights.data()), DType::f32, static_cast<int64_t>(weights.size()) / cols,
            cols};
  }
};

Case normal_rows(int64_t rows, int64_t cols, float mean, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(mean, 0.05f);
  Case made;
  made.cols = cols;
  for (int64_t i = 0; i < rows * cols; ++i) made.weights.push_back(bf16_to_f32(f32_to_bf16(normal(random))));
  return made;
}

// Half a step, and what rounding the scale to bfloat16 (8 bits: 2^-9 of each of up to 255 steps) cuts off at the far
// end.
void expect_round_trip(const Case& made, QuantSpec spec) {
  ThreadPool pool(2);
  QuantisedRows out;
  ASSERT_TRUE(quantise_rows(made.rows(), spec, pool, &out));
  std::vector<float> back(static_cast<size_t>(made.cols));
  for (int64_t row = 0; row < made.rows().rows; ++row) {
    dequantise_row(out, spec, row, back);
    for (size_t i = 0; i < back.size(); ++i) {
      const size_t group = static_cast<size_t>(row * spec.scale_count(made.cols)) + i / static_cast<size_t>(spec.group);
      const float step = std::abs(bf16_to_f32(out.scales[group]));
      const float weight = made.weights[static_cast<size_t>(row * made.cols) + i];
      ASSERT_LE(std::abs(weight - back[i]), 1.25f * step + 1e-6f) << row << " " << i;
    }
  }
}

TEST(Quantizer, RoundTripsWithinAStep) {
  for (const int32_t bits : {4, 8}) {
    for (const int32_t group : {32, 64, 128}) {
      for (const float mean : {0.0f, 0.3f, -0.3f}) {
        expect_round_trip(normal_rows(37, 256, mean, static_cast<unsigned>(group)), {bits, group});
      }
    }
  }
}

TEST(Quantizer, ErrorIsAsSmallAsTheBitsAllow) {
  ThreadPool pool(1);
  const Case made = normal_rows(64, 256, 0.0f, 3);
  for (const auto& [bits, limit] : {std::pair{8, 0.0075}, std::pair{4, 0.11}}) {
    const QuantSpec spec{bits, 64};
    QuantisedRows out;
    ASSERT_TRUE(quantise_rows(made.rows(), spec, pool, &out));
    double error = 0, power = 0;
    std::vector<float> back(256);
    for (int64_t row = 0; row < 64; ++row) {
      dequantise_row(out, spec, row, back);
      for (size_t i = 0; i < back.size(); ++i) {
        const double weight = made.weights[static_cast<size_t>(row) * 256 + i];
        error += (weight - back[i]) * (weight - back[i]);
        power += weight * weight;
      }
    }
    EXPECT_LT(std::sqrt(error / power), limit) << bits;
  }
}

// By hand from the rule: the larger end is kept exactly, zero is a level.
TEST(Quantizer, KeepsTheLargerEndAndZero) {
  ThreadPool pool(1);
  Case made;
  made.cols = 32;
  made.weights.assign(32, 0.0f);
  made.weights[3] = 1.0f;
  made.weights[5] = -0.5f;
  QuantisedRows out;
  ASSERT_TRUE(quantise_rows(made.rows(), {4, 32}, pool, &out));
  // step 1.5 / 15 = 0.1, negative as the positive end is larger: q = 0 is 1.0, q = 10 is 0, q = 15 is -0.5.
  EXPECT_EQ(bf16_to_f32(out.biases[0]), 1.0f);
  EXPECT_NEAR(bf16_to_f32(out.scales[0]), -0.1f, 0.0005f);
  EXPECT_EQ(out.packed[1] >> 4, 0);
  EXPECT_EQ(out.packed[0] & 15, 10);
  EXPECT_EQ(out.packed[2] >> 4, 15);
}

TEST(Quantizer, BearsConstantAndHugeRows) {
  ThreadPool pool(1);
  for (const float value : {0.0f, 0.25f, -3.0f, 1e-30f, 3e38f}) {
    Case made;
    made.cols = 64;
    made.weights.assign(64, value);
    QuantisedRows out;
    ASSERT_TRUE(quantise_rows(made.rows(), {8, 64}, pool, &out));
    std::vector<float> back(64);
    dequantise_row(out, {8, 64}, 0, back);
    EXPECT_NEAR(back[7], value, std::abs(value) * 0.004f + 1e-6f);
  }
  Case wild;
  wild.cols = 32;
  wild.weights.assign(32, 3e38f);
  wild.weights[0] = -3e38f;
  QuantisedRows out;
  EXPECT_TRUE(quantise_rows(wild.rows(), {8, 32}, pool, &out));
}

TEST(Quantizer, RefusesWhatIsNotFinite) {
  ThreadPool pool(1);
  Case made;
  made.cols = 32;
  made.weights.assign(64, 1.0f);
  QuantisedRows out;
  made.weights[40] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(quantise_rows(made.rows(), {8, 32}, pool, &out));
  made.weights[40] = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(quantise_rows(made.rows(), {8, 32}, pool, &out));
}

TEST(Quantizer, ReadsHalvesAtAnyAddress) {
  ThreadPool pool(1);
  std::vector<std::byte> bytes(2 * 32 + 1);
  for (size_t i = 0; i < 32; ++i) {
    const uint16_t half = f32_to_f16(static_cast<float>(i));
    std::memcpy(&bytes[1 + 2 * i], &half, 2);
  }
  QuantisedRows out;
  ASSERT_TRUE(quantise_rows({&bytes[1], DType::f16, 1, 32}, {8, 32}, pool, &out));
  std::vector<float> back(32);
  dequantise_row(out, {8, 32}, 0, back);
  for (size_t i = 0; i < 32; ++i) EXPECT_NEAR(back[i], static_cast<float>(i), 0.13f);
}

}  // namespace
}  // namespace paceline
