#include "model/gemma4/backend_limits.h"

#include <gtest/gtest.h>

#include "model/gemma4/tiny_config.h"

namespace paceline {
namespace {

class BackendLimitsTest : public testing::Test {
 protected:
  [[nodiscard]] std::string message(const Gemma4Weights& weights) const {
    const Status status = check_limits(weights, limits_);
    return status.ok() ? "" : status.error().message;
  }
  static Gemma4Weights weights_of(const char* name) {
    Gemma4Weights weights;
    weights.config = tiny_config(name, 24);
    weights.layers.resize(weights.config.layers.size());
    return weights;
  }

  kernels::Limits limits_;
};

TEST_F(BackendLimitsTest, WithoutLimitsAnythingGoes) {
  Gemma4Weights weights = weights_of("moe");
  weights.config.experts = 4096;
  weights.layers[1].gate.format = WeightFormat::q4;
  EXPECT_EQ(message(weights), "");
}

TEST_F(BackendLimitsTest, TheErrorHasBothNumbers) {
  Gemma4Weights weights = weights_of("moe");
  weights.config.experts = 257;
  limits_.experts = 256;
  EXPECT_EQ(message(weights), "the model has 257 experts; this backend takes at most 256");
  weights.config.experts = 256;
  EXPECT_EQ(message(weights), "");
  limits_.experts_per_token = 2;
  EXPECT_EQ(message(weights), "the model has 3 experts per token; this backend takes at most 2");
  limits_.experts_per_token = 3;
  limits_.norm_width = 63;
  EXPECT_EQ(message(weights), "the model has 64 numbers in a row (hidden size); this backend takes at most 63");
  limits_.norm_width = 64;
  limits_.head_step = 32;
  EXPECT_EQ(message(weights), "the model has heads of 16 numbers; this backend takes multiples of 32");
}

TEST_F(BackendLimitsTest, FormatsThatABackendDoesNotRead) {
  Gemma4Weights weights = weights_of("dense");
  weights.layers[2].up.format = WeightFormat::q4_k;
  limits_.unread = kernels::Limits::format_bit(WeightFormat::nf4);
  EXPECT_EQ(message(weights), "");
  limits_.unread |= kernels::Limits::format_bit(WeightFormat::q4_k);
  EXPECT_EQ(message(weights),
            "the model has weights in Q4_K; this backend does not read those yet (--device cpu does)");
  limits_.unread = 0;
  const std::vector<double> factors(1000, 1.0);
  weights.layers[2].up.factors = factors.data();
  EXPECT_EQ(message(weights), "");
  limits_.block_factors = false;
  EXPECT_EQ(message(weights),
            "the model has weights in Q4_K with factors; this backend does not read those yet (--device cpu does)");
}

TEST_F(BackendLimitsTest, ExpertsWhoseGatesDiffer) {
  Gemma4Weights weights = weights_of("moe");
  weights.layers[2].expert_gate.first.format = WeightFormat::q4_k;
  weights.layers[2].expert_up.first.format = WeightFormat::q5_k;
  weights.layers[2].expert_gate.first.group = weights.layers[2].expert_up.first.group = 32;
  EXPECT_EQ(message(weights), "");
  limits_.gates_alike = true;
  EXPECT_EQ(
      message(weights),
      "layer 2: experts' gate_proj is Q4_K in groups of 32, up_proj Q5_K in groups of 32; this backend takes them "
      "in one format");
}

TEST_F(BackendLimitsTest, Drafters) {
  MtpWeights drafter;
  drafter.config.text = tiny_config("dense", 24);
  drafter.clusters.count = 5000;
  drafter.clusters.first.cols = 100;
  limits_.clusters = 4096;
  EXPECT_FALSE(check_limits(drafter, limits_).ok());
  drafter.clusters.count = 4096;
  EXPECT_TRUE(check_limits(drafter, limits_).ok());
  limits_.cluster_width = 99;
  EXPECT_FALSE(check_limits(drafter, limits_).ok());
}

}  // namespace
}  // namespace paceline
