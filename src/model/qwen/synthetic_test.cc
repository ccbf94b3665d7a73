#include "model/qwen/synthetic.h"

#include <gtest/gtest.h>

#include "kernels/ops.h"
#include "state/kv.h"

namespace paceline::qwen {
namespace {

double billions(const QwenConfig& config) {
  return static_cast<double>(synthetic_bytes(config, {WeightFormat::bf16, 64})) / 2e9;
}

TEST(QwenSyntheticTest, NamedShapesHaveTheirSize) {
  const struct {
    const char* name;
    double low, high;
  } sizes[] = {{"qwen3-8b", 7.8, 8.4},     {"qwen3-30b-a3b", 29.5, 31.5}, {"qwen35-9b", 8.5, 10},
               {"qwen35-27b", 25.5, 28.5}, {"qwen35-35b-a3b", 33.5, 36},  {"qwen35-140m", 0.1, 0.2}};
  ASSERT_EQ(std::size(sizes), synthetic_names().size());
  for (const auto& size : sizes) {
    const auto config = synthetic_config(size.name);
    ASSERT_TRUE(config.ok()) << size.name;
    EXPECT_GE(billions(*config), size.low) << size.name;
    EXPECT_LE(billions(*config), size.high) << size.name;
  }
  EXPECT_FALSE(synthetic_config("qwen3-8").ok());
}

// What a state of the 27B takes: 48 layers of 3.1 MB and 120 KB.
TEST(QwenSyntheticTest, StatesHaveTheirSize) {
  QwenWeights weights;
  weights.config = *synthetic_config("qwen35-27b");
  const KvLayout layout(weights.state(), DType::bf16);
  EXPECT_EQ(layout.recurrent_bytes(), 48u * (48u * 128 * 128 + 3u * 10240) * 4);
  EXPECT_LE(layout.waste[StateKind::recurrent], 0.05);
  EXPECT_LE(layout.waste[StateKind::tape], 0.05);
}

}  // namespace
}  // namespace paceline::qwen
