// Preprocessing: sizes, order and resizing, against rules written out another way. The pixels of the goldens are
// compared in session_test.
#include "media/patches.h"

#include <gtest/gtest.h>

#include <cmath>

#include "media/encoders_for_tests.h"
#include "media/resize.h"

namespace paceline {
namespace {

TEST(GridSizeTest, IsTheLargestThatFits) {
  const PatchShape shape;
  for (const int32_t budget : kBudgets) {
    for (const auto& [width, height] : {std::pair{120, 80}, {64, 200}, {4000, 3000}, {1, 1}, {384, 384}, {999, 17}}) {
      const auto size = grid_size(width, height, shape, budget);
      ASSERT_TRUE(size.ok());
      const int32_t columns = size->width / 48, rows = size->height / 48;
      EXPECT_EQ(columns * 48, size->width);
      EXPECT_EQ(rows * 48, size->height);
      EXPECT_LE(columns * rows, budget);
      // No size of the same ratio with one more token a side: the ideal sides are less than a token longer.
      const double factor = std::sqrt(budget * 48.0 * 48.0 / width / height);
      EXPECT_LT(factor * width - size->width, 48.001);
      EXPECT_LT(factor * height - size->height, 48.001);
    }
  }
}

TEST(GridSizeTest, StripsTakeOneTokenInBreadth) {
  const auto wide = grid_size(3000, 10, {}, 70), tall = grid_size(1, 5000, {}, 70), bent = grid_size(10, 750, {}, 70);
  ASSERT_TRUE(wide.ok() && tall.ok() && bent.ok());
  EXPECT_EQ(wide->width, 70 * 48);
  EXPECT_EQ(wide->height, 48);
  EXPECT_EQ(tall->width, 48);
  EXPECT_EQ(tall->height, 70 * 48);
  EXPECT_EQ(bent->height, 70 * 48);
}

TEST(PatchesTest, AreCutRowByRow) {
  const Picture picture = test_picture(384, 384);  // fits the budget of 70 as it is
  for (const int32_t side : {16, 48}) {
    const auto patches = make_patches(picture, {}, side, 70);
    ASSERT_TRUE(patches.ok());
    EXPECT_EQ(patches->columns, 384 / side);
    EXPECT_EQ(patches->tokens, 64);
    EXPECT_EQ(patches->count(), 384 * 384 / side / side);
    size_t at = 0;
    for (int32_t patch = 0; patch < patches->count(); ++patch) {
      const int32_t left = patch % patches->columns * side, top = patch / patches->columns * side;
      for (int32_t y = top; y < top + side; ++y)
        for (int32_t x = left; x < left + side; ++x)
          for (int32_t c = 0; c < 3; ++c) {
            const auto pixel = static_cast<size_t>(y) * 384 + static_cast<size_t>(x);
            ASSERT_EQ(patches->values[at++], picture.rgb[pixel * 3 + static_cast<size_t>(c)]);
          }
    }
  }
}

// In doubles and without integer weights: never further away than rounding twice allows.
double plain_cubic(const std::vector<double>& in, int32_t to, int32_t i) {
  const auto from = static_cast<int32_t>(in.size());
  const double scale = static_cast<double>(from) / to, stretch = std::max(1.0, scale), centre = scale * (i + 0.5);
  double sum = 0, weights = 0;
  for (int32_t j = 0; j < from; ++j) {
    const double x = std::abs((j + 0.5 - centre) / stretch);
    const double w = x < 1 ? 1.5 * x * x * x - 2.5 * x * x + 1 : x < 2 ? -0.5 * x * x * x + 2.5 * x * x - 4 * x + 2 : 0;
    sum += w * in[static_cast<size_t>(j)];
    weights += w;
  }
  return std::clamp(sum / weights, 0.0, 255.0);
}

TEST(ResizeTest, IsCloseToTheRealNumbers) {
  const Picture picture = test_picture(61, 37);
  for (const auto& [width, height] : {std::pair{96, 48}, {20, 37}, {61, 11}, {7, 90}, {61, 37}}) {
    const Picture small = resized(picture, width, height);
    ASSERT_EQ(small.rgb.size(), static_cast<size_t>(width * height * 3));
    double largest = 0;
    for (int32_t c = 0; c < 3; ++c) {
      std::vector<std::vector<double>> columns(static_cast<size_t>(width));
      for (int32_t y = 0; y < 37; ++y) {
        std::vector<double> row;
        for (int32_t x = 0; x < 61; ++x) row.push_back(picture.rgb[static_cast<size_t>((y * 61 + x) * 3 + c)]);
        for (int32_t x = 0; x < width; ++x)
          columns[static_cast<size_t>(x)].push_back(width == 61 ? row[static_cast<size_t>(x)]
                                                                : plain_cubic(row, width, x));
      }
      for (int32_t x = 0; x < width; ++x)
        for (int32_t y = 0; y < height; ++y) {
          const double want = plain_cubic(columns[static_cast<size_t>(x)], height, y);
          largest = std::max(largest, std::abs(want - small.rgb[static_cast<size_t>((y * width + x) * 3 + c)]));
        }
    }
    EXPECT_LT(largest, 1.6) << width << " × " << height;
  }
}

}  // namespace
}  // namespace paceline
