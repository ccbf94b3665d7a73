#include "model/binding.h"

#include <gtest/gtest.h>

#include "model/load.h"

namespace paceline {
namespace {

const std::string kGoldens = PACELINE_SOURCE_DIR "/tests/goldens/";

LoadedModel load(const std::string& name) {
  ThreadPool pool(2);
  auto model = load_model(kGoldens + name + "/target", pool);
  EXPECT_TRUE(model.ok()) << (model.ok() ? "" : model.error().message);
  return std::move(model).value();
}

class Goldens : public testing::TestWithParam<const char*> {};

TEST_P(Goldens, BindsEveryLayer) {
  const LoadedModel model = load(GetParam());
  const TextWeights& weights = *model.weights;
  ASSERT_EQ(weights.layers.size(), model.config.layers.size());
  for (size_t i = 0; i < weights.layers.size(); ++i) {
    const LayerConfig& layer = model.config.layers[i];
    const LayerWeights& bound = weights.layers[i];
    EXPECT_EQ(bound.q.rows, model.config.heads * layer.head_dim);
    EXPECT_EQ(bound.down.cols, layer.ffn);
    EXPECT_EQ(bound.k.present(), layer.kv_layer == static_cast<int32_t>(i));
    EXPECT_EQ(bound.v.present(), bound.k.present() && !layer.value_is_key);
    EXPECT_EQ(bound.k_norm.empty(), !bound.k.present());
    EXPECT_EQ(bound.router.present(), model.config.experts > 0);
    EXPECT_EQ(bound.ple_gate.present(), model.config.ple_width > 0);
    EXPECT_EQ(bound.q.format, WeightFormat::bf16);
  }
  EXPECT_EQ(weights.head.values, weights.embedding.values);
  EXPECT_GT(weights.total_bytes(), 0u);
}

INSTANTIATE_TEST_SUITE_P(All, Goldens, testing::Values("dense", "moe", "ple", "vlm"));

TEST(Binding, ExpertsOfTheFusedFormAreStrided) {
  const LoadedModel model = load("moe");
  const LayerWeights& layer = model.weights->layers[0];
  EXPECT_EQ(layer.expert_gate.count, 8);
  EXPECT_EQ(layer.expert_gate.stride_rows, 128);
  EXPECT_EQ(layer.expert_gate.first.rows, 64);
  const auto* gate = static_cast<const char*>(layer.expert_gate.at(1).values);
  const auto* up = static_cast<const char*>(layer.expert_up.at(1).values);
  EXPECT_EQ(up - gate, 64 * 96 * 2);
  EXPECT_EQ(gate - static_cast<const char*>(layer.expert_gate.at(0).values), 128 * 96 * 2);
  EXPECT_EQ(layer.expert_down.at(7).cols, 64);
}

TEST(Binding, DecodeReadsOnlyTheChosenExperts) {
  const LoadedModel model = load("moe");
  const size_t expert = 3 * 64 * 96 * 2;
  const size_t embedding_rest = (384 - 1) * 96 * 2;  // read as the head; as an embedding, only one row
  EXPECT_EQ(model.weights->total_bytes() - model.weights->bytes_per_decode() + 96 * 2, 6 * (8 - 2) * expert);
  EXPECT_GT(model.weights->bytes_per_decode(), embedding_rest);
}

}  // namespace
}  // namespace paceline
