#include "model/gemma4/binding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "model/changed_checkpoint.h"
#include "model/gemma4/config_reader.h"
#include "model/gemma4/load_gemma4.h"
#include "weights/scratch_folder.h"

namespace paceline {
namespace {

using testing::HasSubstr;

LoadedGemma4 load(const std::filesystem::path& folder) {
  ThreadPool pool(2);
  auto model = load_gemma4(folder, pool);
  EXPECT_TRUE(model.ok()) << (model.ok() ? "" : model.error().message);
  return std::move(model).value();
}

LoadedGemma4 load_golden(const std::string& name) { return load(kGoldens + name + "/target"); }

std::string binding_error(const std::filesystem::path& folder) {
  ThreadPool pool(2);
  const auto model = load_gemma4(folder, pool);
  EXPECT_FALSE(model.ok());
  return model.ok() ? "" : model.error().message;
}

using Tensors = ChangedCheckpoint;

class Goldens : public testing::TestWithParam<const char*> {};

TEST_P(Goldens, BindEveryLayer) {
  const LoadedGemma4 model = load_golden(GetParam());
  const Gemma4Weights& weights = *model.weights;
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
}

INSTANTIATE_TEST_SUITE_P(All, Goldens, testing::Values("dense", "moe", "ple", "vlm"));

TEST(Binding, ReportsProgress) {
  ThreadPool pool(1);
  std::vector<int> seen;
  ASSERT_TRUE(load_gemma4(kGoldens + "dense/target", pool, [&](int done, int) { seen.push_back(done); }).ok());
  EXPECT_THAT(seen, testing::ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(Binding, ExpertsOfTheFusedFormAreStrided) {
  const LoadedGemma4 model = load_golden("moe");
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
  const LoadedGemma4 model = load_golden("moe");
  const size_t expert = 3 * 64 * 96 * 2;
  // Decoding reads one row of the embedding beside the whole head, which is the embedding again.
  EXPECT_EQ(model.weights->total_bytes() + 96 * 2 - model.weights->bytes_per_decode(), 6 * (8 - 2) * expert);
}

TEST(Binding, NamesAMissingTensorWithItsShape) {
  for (const auto& [name, shape] :
       {std::pair{"model.layers.3.mlp.up_proj.weight", "[256, 96]"},
        std::pair{"model.layers.5.self_attn.k_norm.weight", "[32]"}, std::pair{"model.norm.weight", "[96]"},
        std::pair{"model.layers.0.layer_scalar", "[1]"}}) {
    const ScratchFolder folder;
    Tensors tensors("dense/target");
    tensors.erase(name);
    tensors.write(folder);
    EXPECT_THAT(binding_error(folder.path()),
                HasSubstr(std::string("tensor \"") + name + "\" is missing; expected it with shape " + shape));
  }
  const ScratchFolder folder;
  Tensors tensors("dense/target");
  tensors.erase("model.embed_tokens.weight");
  tensors.write(folder);
  EXPECT_THAT(binding_error(folder.path()), HasSubstr("embed_tokens.weight"));
}

TEST(Binding, NamesWrongShapesAndDtypes) {
  {
    const ScratchFolder folder;
    Tensors tensors("dense/target");
    tensors.reshape("model.layers.0.self_attn.q_proj.weight", {64, 95}, DType::bf16);
    tensors.write(folder);
    EXPECT_THAT(binding_error(folder.path()), HasSubstr("q_proj.weight\": expected shape [64, 96], found [64, 95]"));
  }
  {
    const ScratchFolder folder;
    Tensors tensors("dense/target");
    tensors.reshape("model.layers.0.self_attn.q_proj.weight", {64, 96}, DType::i16);
    tensors.write(folder);
    EXPECT_THAT(binding_error(folder.path()), HasSubstr("q_proj.weight\": expected BF16, F16 or F32, found I16"));
  }
}

TEST(Binding, NamesASurplusTensor) {
  const ScratchFolder folder;
  Tensors tensors("dense/target");
  tensors.add("model.layers.0.self_attn.q_proj.bias", DType::bf16, {64});
  tensors.write(folder);
  EXPECT_THAT(binding_error(folder.path()), HasSubstr("\"model.layers.0.self_attn.q_proj.bias\" belongs to nothing"));
}

TEST(Binding, PassesOverDeadKeysTiedHeadsAndMediaParts) {
  const ScratchFolder folder;
  Tensors tensors("ple/target");
  tensors.add("model.layers.4.self_attn.k_proj.weight", DType::bf16, {16, 96});
  tensors.add("model.layers.4.self_attn.k_norm.weight", DType::bf16, {16});
  tensors.add("model.layers.7.self_attn.v_proj.weight", DType::bf16, {32, 96});
  tensors.add("lm_head.weight", DType::bf16, {384, 96});
  tensors.add("model.vision_tower.x", DType::bf16, {1});
  tensors.add("embed_audio.x", DType::bf16, {1});
  tensors.add("model.rotary_emb.inv_freq", DType::f32, {1});
  tensors.write(folder);
  EXPECT_FALSE(load(folder.path()).weights->layers[4].k.present());
}

TEST(Binding, ReadsMlxPrefixes) {
  for (const char* prefix : {"language_model.model.", "language_model.", "model.language_model."}) {
    const ScratchFolder folder;
    Tensors tensors("dense/target");
    for (auto& one : tensors.all) one.plan.name.replace(0, 6, prefix);
    tensors.write(folder);
    EXPECT_EQ(load(folder.path()).weights->layers.size(), 6u) << prefix;
  }
}

TEST(Binding, OwnHeads) {
  const ScratchFolder folder;
  Tensors tensors("dense/target");
  const size_t at = tensors.config.find("\"tie_word_embeddings\": true");
  tensors.config.replace(at, 27, "\"tie_word_embeddings\": false");
  tensors.write(folder);
  EXPECT_THAT(binding_error(folder.path()), HasSubstr("lm_head.weight\" is missing"));
  tensors.add("lm_head.weight", DType::f32, {384, 96});
  tensors.write(folder);
  EXPECT_EQ(load(folder.path()).weights->head.format, WeightFormat::f32);
}

// One space more in the header, and every tensor lies at an odd address.
TEST(Binding, CopiesWhatIsNotAligned) {
  const LoadedGemma4 plain = load_golden("dense");
  const auto bytes = plain.checkpoint->files()[0].bytes();
  std::string file(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  uint64_t length = 0;
  std::memcpy(&length, file.data(), 8);
  file.insert(8 + length, 1, ' ');
  ++length;
  std::memcpy(file.data(), &length, 8);
  const ScratchFolder folder;
  folder.write("config.json", plain.checkpoint->config_json());
  folder.write("model.safetensors", file);
  const LoadedGemma4 shifted = load(folder.path());
  const Matrix& a = plain.weights->layers[2].down;
  const Matrix& b = shifted.weights->layers[2].down;
  EXPECT_EQ(reinterpret_cast<uintptr_t>(b.values) % 2, 0u);
  EXPECT_EQ(std::memcmp(a.values, b.values, a.bytes()), 0);
  EXPECT_EQ(plain.weights->layers[2].q_norm, shifted.weights->layers[2].q_norm);
}

TEST(Binding, ReadsPackedMatricesBySight) {
  const std::string name = "model.layers.0.mlp.down_proj";  // [96, 256]
  for (const DType scales : {DType::bf16, DType::f16, DType::f32}) {
    const ScratchFolder folder;
    Tensors tensors("dense/target");
    tensors.reshape(name + ".weight", {96, 32}, DType::u32);
    tensors.add(name + ".scales", scales, {96, 4});
    tensors.add(name + ".biases", scales, {96, 4});
    tensors.reshape("model.embed_tokens.weight", {384, 24}, DType::u32);
    tensors.add("model.embed_tokens.scales", scales, {384, 3});
    tensors.add("model.embed_tokens.biases", scales, {384, 3});
    if (scales == DType::f16) {
      const uint16_t half = f32_to_f16(0.375f);
      std::memcpy(tensors.at(name + ".scales").bytes.data() + 2 * 5, &half, 2);
    }
    tensors.write(folder);
    const LoadedGemma4 model = load(folder.path());
    const Matrix& down = model.weights->layers[0].down;
    EXPECT_EQ(down.format, WeightFormat::q4);
    EXPECT_EQ(down.group, 64);
    EXPECT_EQ(down.cols, 256);
    EXPECT_EQ(down.scale_dtype, scales == DType::bf16 ? DType::bf16 : DType::f32);
    if (scales == DType::f16) {
      EXPECT_EQ(static_cast<const float*>(down.scales)[5], 0.375f);
    }
    EXPECT_EQ(model.weights->embedding.format, WeightFormat::q8);
    EXPECT_EQ(model.weights->embedding.group, 32);
  }
}

TEST(Binding, RefusesOtherPackings) {
  const std::string name = "model.layers.0.mlp.down_proj";
  const auto packed = [&](int64_t packed_cols, int64_t groups, DType dtype, bool biases) {
    const ScratchFolder folder;
    Tensors tensors("dense/target");
    tensors.reshape(name + ".weight", {96, packed_cols}, dtype);
    tensors.add(name + ".scales", DType::bf16, {96, groups});
    if (biases) tensors.add(name + ".biases", DType::bf16, {96, groups});
    tensors.write(folder);
    return binding_error(folder.path());
  };
  EXPECT_THAT(packed(24, 4, DType::u32, true), HasSubstr("packed in 4 or 8 bits"));
  EXPECT_THAT(packed(32, 16, DType::u32, true), HasSubstr("found weight [96, 32] and scales [96, 16]"));
  EXPECT_THAT(packed(32, 4, DType::u32, false), HasSubstr("biases\" is missing; expected it with shape [96, 4]"));
  EXPECT_THAT(packed(32, 4, DType::i32, true), HasSubstr("expected U32"));
}

}  // namespace
}  // namespace paceline
