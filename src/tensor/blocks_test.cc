#include "tensor/blocks.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace paceline {
namespace {

constexpr WeightFormat kFormats[] = {WeightFormat::q8_0, WeightFormat::q4_0,   WeightFormat::q4_1,  WeightFormat::q5_0,
                                     WeightFormat::q5_1, WeightFormat::iq4_nl, WeightFormat::mxfp4, WeightFormat::nvfp4,
                                     WeightFormat::q2_k, WeightFormat::q3_k,   WeightFormat::q4_k,  WeightFormat::q5_k,
                                     WeightFormat::q6_k, WeightFormat::iq4_xs};

void put_half(std::vector<uint8_t>& block, size_t at, float value) {
  const uint16_t bits = f32_to_f16(value);
  std::memcpy(block.data() + at, &bits, sizeof bits);
}

std::vector<float> values_of(WeightFormat format, const std::vector<uint8_t>& block) {
  std::vector<float> values(static_cast<size_t>(block_shape(format).elements));
  dequantise_blocks(format, block.data(), static_cast<int64_t>(values.size()), values.data());
  return values;
}

TEST(Blocks, HaveTheValuesTheyStandFor) {
  std::vector<uint8_t> q8(34);
  put_half(q8, 0, 0.5f);
  q8[2] = 0x80, q8[3] = 127, q8[33] = 0xff;
  EXPECT_EQ(values_of(WeightFormat::q8_0, q8)[0], -64.0f);
  EXPECT_EQ(values_of(WeightFormat::q8_0, q8)[1], 63.5f);
  EXPECT_EQ(values_of(WeightFormat::q8_0, q8)[31], -0.5f);

  std::vector<uint8_t> q4(18);
  put_half(q4, 0, 2.0f);
  q4[2] = 0xf0;  // element 0 is 0, element 16 is 15
  EXPECT_EQ(values_of(WeightFormat::q4_0, q4)[0], -16.0f);
  EXPECT_EQ(values_of(WeightFormat::q4_0, q4)[16], 14.0f);

  std::vector<uint8_t> mxfp4(17);
  mxfp4[0] = 0, mxfp4[1] = 0x17;  // 6 · 2^-127, and half of it
  EXPECT_EQ(values_of(WeightFormat::mxfp4, mxfp4)[0], 0x1.8p-125f);
  EXPECT_EQ(values_of(WeightFormat::mxfp4, mxfp4)[16], 0x1p-128f);
}

// Whatever a stranger wrote: infinite scales, every bit set. Blocks side by side have the bits that each has alone, all
// values are written, and nothing behind them.
TEST(Blocks, AnyBytesAreRead) {
  constexpr float kBehind = 1234.5f;
  std::mt19937 random(3);
  for (const WeightFormat format : kFormats) {
    const auto bytes = static_cast<size_t>(block_shape(format).bytes);
    const auto elements = static_cast<size_t>(block_shape(format).elements);
    for (int round = 0; round < 200; ++round) {
      std::vector<uint8_t> both(2 * bytes);
      for (uint8_t& byte : both) byte = round == 0 ? 0xff : static_cast<uint8_t>(random());
      std::vector<float> values(2 * elements + 1, kBehind);
      dequantise_blocks(format, both.data(), static_cast<int64_t>(2 * elements), values.data());
      for (size_t i = 0; i < 2; ++i) {
        const auto begin = both.begin() + static_cast<std::ptrdiff_t>(i * bytes);
        const auto alone = values_of(format, {begin, begin + static_cast<std::ptrdiff_t>(bytes)});
        ASSERT_EQ(std::memcmp(values.data() + i * elements, alone.data(), elements * sizeof(float)), 0) << round;
      }
      ASSERT_EQ(values.back(), kBehind);
    }
  }
}

}  // namespace
}  // namespace paceline
