// How quantised matrices lie in device memory: plain numbers, so that no device is needed to see that nothing lies on
// anything else.
#include "kernels/cuda/layout.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace paceline::kernels::cuda {
namespace {

Weight quantised(Format format, int32_t group, Scales scales, int32_t rows, int32_t cols) {
  Weight w;
  w.format = format;
  w.group = group;
  w.scales = scales;
  w.rows = rows;
  w.cols = cols;
  return w;
}

std::vector<Weight> quantised_weights() {
  std::vector<Weight> all;
  for (const Format format : {Format::q8, Format::q4})
    for (const int32_t rows : {1, 16, 17, 32, 100})
      for (const int32_t cols : {128, 384}) {
        for (const int32_t group : {16, 32, 64, 128})
          for (const Scales scales : {Scales::bf16, Scales::f32})
            all.push_back(quantised(format, group, scales, rows, cols));
        all.push_back(quantised(format, 32, Scales::centred, rows, cols));
        all.push_back(quantised(format, 32, Scales::products, rows, cols));
        all.push_back(quantised(format, 16, Scales::signed_products, rows, cols));
      }
  for (const Format format : {Format::q8, Format::q4}) all.push_back(quantised(format, 32, Scales::bf16, 48, 96));
  return all;
}

std::string name_of(const Weight& w) {
  return std::string(w.format == Format::q8 ? "q8" : "q4") + ", scales " + std::to_string(static_cast<int>(w.scales)) +
         " by " + std::to_string(w.group) + ", " + std::to_string(w.rows) + " x " + std::to_string(w.cols);
}

TEST(CudaLayout, EveryElementHasAPlaceOfItsOwn) {
  for (const Weight& w : quantised_weights()) {
    SCOPED_TRACE(name_of(w));
    const auto bytes = static_cast<int64_t>(bytes_of(w));
    // What a group's pair takes, or all of an output's and step's.
    const int32_t pair_bytes = !pairs(w.scales) ? record_bytes(w.scales) : w.scales == Scales::f32 ? 8 : 4;
    const int32_t shares = pairs(w.scales) ? w.group : kStepK, second = w.group == 16 ? 16 : 4;
    // What each byte holds: elements by their number, scales by minus their row's and group's.
    std::map<int64_t, std::vector<int64_t>> held;
    for (int32_t row = 0; row < w.rows; ++row)
      for (int32_t col = 0; col < w.cols; ++col) {
        const StepPlace at = quantised_place(w, row, col);
        held[at.values].push_back(int64_t{row} * w.cols + col);
        ASSERT_TRUE(at.values >= 0 && at.values < bytes);
        ASSERT_TRUE(at.scales >= 0 && at.scales + pair_bytes <= bytes);
        ASSERT_EQ(at.scales % (pair_bytes == 12 ? 4 : pair_bytes), 0);
        if (col % shares != 0) {
          ASSERT_EQ(at.scales, quantised_place(w, row, col - 1).scales);
          continue;
        }
        for (int32_t i = 0; i < pair_bytes; ++i) held[at.scales + i].push_back(-1 - (int64_t{row} * w.cols + col));
      }
    for (const auto& [at, what] : held) {
      if (w.format == Format::q8 || what[0] < 0) {
        ASSERT_EQ(what.size(), 1u) << "at " << at;
        continue;
      }
      // Of q4, column c and the one of the second four.
      ASSERT_EQ(what.size(), 2u) << "at " << at;
      ASSERT_EQ(what[1] - what[0], second) << "at " << at;
      ASSERT_EQ(second_four(w.group, static_cast<int32_t>(what[0] % w.cols)), 0) << "at " << at;
    }
  }
}

TEST(CudaLayout, AStepOfTwoTilesIsOnePiece) {
  for (const Weight& w : quantised_weights()) {
    SCOPED_TRACE(name_of(w));
    const int64_t piece = pair_step_bytes(w.format, w.group, w.scales);
    EXPECT_EQ(piece % 16, 0);
    for (int32_t row = 0; row < w.rows; ++row)
      for (int32_t col = 0; col < w.cols; ++col) {
        const StepPlace at = quantised_place(w, row, col), tile = step_place(w, row / kTileOutputs, col / kStepK);
        const StepPlace pair = step_place(w, row / kPairOutputs * 2, col / kStepK);
        ASSERT_TRUE(at.values >= pair.values && at.values < pair.values + 2 * step_value_bytes(w.format));
        ASSERT_TRUE(at.scales >= pair.scales && at.scales < pair.values + piece);
        ASSERT_TRUE(at.values >= tile.values && at.values < tile.values + step_value_bytes(w.format));
        ASSERT_TRUE(at.scales >= tile.scales && at.scales < tile.scales + step_scale_bytes(w.group, w.scales));
      }
    // Slices of whole pairs lie one behind the other.
    for (int32_t row = 0; row < w.rows; row += kPairOutputs)
      EXPECT_EQ(static_cast<int64_t>(bytes_of(w, row)), step_place(w, row / kTileOutputs, 0).values);
  }
}

TEST(CudaLayout, PartsCoverAllColumns) {
  for (const int32_t rows : {16, 64, 262, 2560, 5376, 21504, 262144})
    for (const int32_t cols : {64, 96, 256, 1664, 3840, 5376, 21504}) {
      SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(cols));
      Weight w;
      w.rows = rows;
      w.cols = cols;
      w.part = part_blocks(rows, cols);
      EXPECT_GT(w.part, 0);
      EXPECT_EQ(w.part % 4, 0);
      EXPECT_GE(w.parts() * w.part * kBlockK, cols);
      EXPECT_LT((w.parts() - 1) * w.part * kBlockK, cols);
      w.part = quantised_part_blocks(rows, cols);
      EXPECT_GT(w.part, 0);
      EXPECT_EQ(w.part % 2, 0);
      EXPECT_GE(w.parts() * w.part * kBlockK, cols);
      EXPECT_LT((w.parts() - 1) * w.part * kBlockK, cols);
      for (const auto& [part, step] : {std::pair{q4_part_blocks(rows, cols), 2}, {chunk_part_blocks(rows, cols), 4}}) {
        w.part = part;
        EXPECT_GT(part, 0);
        EXPECT_EQ(part % step, 0);
        EXPECT_GE(w.parts() * part * kBlockK, cols);
        EXPECT_LT((w.parts() - 1) * part * kBlockK, cols);
      }
    }
}

TEST(CudaLayout, BytesOfARowAreThoseThatALaneTakesTogether) {
  // Of 64 columns lane t takes columns t * 8 to + 7 of both halves, or t * 4 to + 3 of the four groups.
  for (const int32_t group : {16, 32, 64, 128}) {
    std::vector<int> seen(256, 0);
    for (int32_t col = 0; col < 256; ++col) {
      const int32_t at = byte_place(group, col);
      ASSERT_TRUE(at >= 0 && at < 256);
      ++seen[static_cast<size_t>(at)];
      EXPECT_EQ(at / 64, col / 64);
      EXPECT_EQ(at % 64 / 16, group == 16 ? col % 16 / 4 : col % 32 / 8);
      EXPECT_TRUE(group != 16 || at % 16 / 4 == col % 64 / 16);
      EXPECT_TRUE(col % 4 == 0 || at == byte_place(group, col - 1) + 1);
    }
    for (const int count : seen) EXPECT_EQ(count, 1);
  }
}

}  // namespace
}  // namespace paceline::kernels::cuda
