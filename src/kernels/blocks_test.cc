#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/block_ops.h"
#include "kernels/cpu_ops.h"

namespace paceline::kernels {
namespace {

std::vector<float> rising(size_t count, float step) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(static_cast<int>(i * 37 % 23) - 11) * step;
  return values;
}

class Blocks : public testing::Test {
 protected:
  Blocks() : pool_(2), ops_(**find_cpu_table(""), pool_) {}

  ThreadPool pool_;
  CpuOps ops_;
};

TEST_F(Blocks, RowsOfSeveralPartsLieBesideEachOther) {
  const std::vector<float> from = rising(size_t{3} * 4 * 2, 1);
  const std::vector<int32_t> rows{3, 1};
  std::vector<float> to(size_t{2} * 3 * 2);
  ops_.blocks()->join({from.data(), rows, to.data(), 3, 4, 2});
  for (size_t i = 0; i < rows.size(); ++i)
    for (size_t part = 0; part < 3; ++part)
      for (size_t c = 0; c < 2; ++c)
        EXPECT_EQ(to[(i * 3 + part) * 2 + c], from[(part * 4 + static_cast<size_t>(rows[i])) * 2 + c]);
}

TEST_F(Blocks, AConvolutionSeesItsOwnBlockOnly) {
  constexpr int32_t kWidth = 6, kTaps = 3, kGroup = 2, kGroups = kWidth / kGroup;
  const std::vector<int32_t> blocks{4, 1, 2};
  const int32_t rows = std::accumulate(blocks.begin(), blocks.end(), 0);
  constexpr int64_t kStride = 2 * kTaps * kGroups;  // the other half belongs to another convolution
  const auto x = rising(static_cast<size_t>(rows) * kWidth, 0.5f), base = rising(kTaps * kWidth, 0.25f);
  const auto own = rising(static_cast<size_t>(rows * kStride), 0.125f);
  std::vector<float> y(x.size());
  ops_.blocks()->block_conv({x.data(), base.data(), own.data(), y.data(), kStride, kWidth, kTaps, kGroup, blocks});
  int32_t first = 0;
  for (const int32_t count : blocks) {
    for (int32_t row = 0; row < count; ++row) {
      for (int32_t c = 0; c < kWidth; ++c) {
        float sum = 0;
        for (int32_t t = 0; t < kTaps && t <= row; ++t) {
          const float mine = own[static_cast<size_t>((first + row) * kStride + t * kGroups + c / kGroup)];
          sum += (base[static_cast<size_t>(t * kWidth + c)] + mine) *
                 x[static_cast<size_t>((first + row - t) * kWidth + c)];
        }
        EXPECT_EQ(y[static_cast<size_t>((first + row) * kWidth + c)], sum) << "row " << first + row << ", " << c;
      }
    }
    first += count;
  }
}

}  // namespace
}  // namespace paceline::kernels
