// Conversions of 16-bit numbers, all 65536 of them both ways, and the rounding between each two neighbours.
#include "tensor/dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <ostream>
#include <string>

namespace paceline {
namespace {

uint32_t bits_of(float f) { return std::bit_cast<uint32_t>(f); }
float float_of(uint32_t bits) { return std::bit_cast<float>(bits); }

// A 16-bit format with a sign, `exponent_bits` and the rest fraction.
struct Format {
  const char* name;
  int exponent_bits;
  float (*widen)(uint16_t);
  uint16_t (*narrow)(float);

  [[nodiscard]] int fraction_bits() const { return 15 - exponent_bits; }
  [[nodiscard]] uint16_t infinity() const {
    return static_cast<uint16_t>(0x7fff >> fraction_bits() << fraction_bits());
  }

  // By the book, in double.
  [[nodiscard]] double value(uint16_t h) const {
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const int exponent = (h & 0x7fff) >> fraction_bits();
    const int fraction = h & ((1 << fraction_bits()) - 1);
    const double magnitude = exponent == 0
                                 ? std::ldexp(fraction, 1 - bias - fraction_bits())
                                 : std::ldexp(fraction + (1 << fraction_bits()), exponent - bias - fraction_bits());
    return (h & 0x8000) != 0 ? -magnitude : magnitude;
  }
  [[nodiscard]] bool is_nan(uint16_t h) const { return (h & 0x7fff) > infinity(); }
};

void PrintTo(const Format& format, std::ostream* out) { *out << format.name; }  // NOLINT(readability-identifier-naming)

class DtypeTest : public testing::TestWithParam<Format> {};

TEST_P(DtypeTest, AllPatternsThereAndBack) {
  const Format& format = GetParam();
  for (uint32_t i = 0; i < 65536; ++i) {
    const auto h = static_cast<uint16_t>(i);
    const float wide = format.widen(h);
    ASSERT_EQ(std::signbit(wide), (h & 0x8000) != 0) << i;
    if (format.is_nan(h)) {
      ASSERT_TRUE(std::isnan(wide)) << i;
      const uint16_t back = format.narrow(wide);
      ASSERT_TRUE(format.is_nan(back)) << i;
      ASSERT_EQ(back & 0x8000, h & 0x8000) << i;
      continue;
    }
    if ((h & 0x7fff) == format.infinity())
      ASSERT_TRUE(std::isinf(wide)) << i;
    else
      ASSERT_EQ(static_cast<double>(wide), format.value(h)) << i;
    ASSERT_EQ(format.narrow(wide), h) << i;
  }
}

// Between neighbours a and b of equal sign: up to the middle a, from there on b; the middle itself goes to the even
// one. The last neighbour is infinity, which stands where the next finite number would.
TEST_P(DtypeTest, RoundsToNearestTiesToEven) {
  const Format& format = GetParam();
  for (uint32_t i = 0; i < format.infinity(); ++i)
    for (const uint32_t sign : {0u, 0x8000u}) {
      const auto low = static_cast<uint16_t>(i | sign), high = static_cast<uint16_t>((i + 1) | sign);
      // Exact: a float32 has at least one more fraction bit than either format, also where bf16 is subnormal.
      const double next = format.value(high);
      const auto middle = static_cast<float>((format.value(low) + next) / 2);
      ASSERT_EQ(format.narrow(middle), (i & 1) == 0 ? low : high) << i;
      ASSERT_EQ(format.narrow(float_of(bits_of(middle) - 1)), low) << i;
      ASSERT_EQ(format.narrow(float_of(bits_of(middle) + 1)), high) << i;
    }
}

TEST_P(DtypeTest, Extremes) {
  const Format& format = GetParam();
  const float largest = float_of(0x7f7fffff), smallest = float_of(1), infinity = INFINITY;
  EXPECT_EQ(format.narrow(largest), format.infinity());
  EXPECT_EQ(format.narrow(-largest), format.infinity() | 0x8000);
  EXPECT_EQ(format.narrow(infinity), format.infinity());
  EXPECT_EQ(format.narrow(-infinity), format.infinity() | 0x8000);
  EXPECT_EQ(format.narrow(smallest), 0);
  EXPECT_EQ(format.narrow(-smallest), 0x8000);
  // NaNs whose payload lies in the bits that are cut off.
  EXPECT_TRUE(format.is_nan(format.narrow(float_of(0x7f800001))));
  EXPECT_TRUE(format.is_nan(format.narrow(float_of(0xffffffff))));
}

INSTANTIATE_TEST_SUITE_P(Formats, DtypeTest,
                         testing::Values(Format{"f16", 5, f16_to_f32, f32_to_f16},
                                         Format{"bf16", 8, bf16_to_f32, f32_to_bf16}),
                         [](const auto& run) { return std::string(run.param.name); });

}  // namespace
}  // namespace paceline
