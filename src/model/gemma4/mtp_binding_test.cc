#include "model/gemma4/mtp_binding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "model/changed_checkpoint.h"
#include "model/gemma4/load_gemma4.h"
#include "model/gemma4/synthetic.h"

namespace paceline {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Result<std::shared_ptr<const MtpWeights>> loaded(const ChangedCheckpoint& checkpoint) {
  const ScratchFolder folder;
  checkpoint.write(folder);
  ThreadPool pool(1);
  return load_mtp(folder.path(), pool);
}

std::string drafter_error(const ChangedCheckpoint& checkpoint) {
  const auto weights = loaded(checkpoint);
  EXPECT_FALSE(weights.ok());
  return weights.ok() ? "" : weights.error().message;
}

void set_id(ChangedCheckpoint& checkpoint, size_t at, int64_t id) {
  auto& bytes = checkpoint.at("masked_embedding.token_ordering").bytes;
  std::memcpy(bytes.data() + at * sizeof id, &id, sizeof id);
}

int64_t id_at(ChangedCheckpoint& checkpoint, size_t at) {
  int64_t id = 0;
  std::memcpy(&id, checkpoint.at("masked_embedding.token_ordering").bytes.data() + at * sizeof id, sizeof id);
  return id;
}

TEST(MtpBinding, BindsTheGoldens) {
  for (const char* golden : {"dense", "moe", "ple"}) {
    ThreadPool pool(2);
    const auto loaded_weights = load_mtp(kGoldens + golden + "/assistant", pool);
    ASSERT_TRUE(loaded_weights.ok()) << loaded_weights.error().message;
    const MtpWeights& w = **loaded_weights;
    EXPECT_EQ(w.pre_projection.cols, 192);
    EXPECT_EQ(w.post_projection.rows, 96);
    EXPECT_EQ(w.layers.size(), 4u);
    for (const LayerWeights& layer : w.layers) {
      EXPECT_FALSE(layer.k.present());
      EXPECT_TRUE(layer.k_norm.empty());
      EXPECT_EQ(layer.o.rows, 64);
    }
    const bool ordered = std::string_view(golden) == "ple";
    EXPECT_EQ(w.head.present(), !ordered);
    EXPECT_EQ(w.centroids.present(), ordered);
    EXPECT_EQ(w.clusters.count, ordered ? 32 : 0);
    const auto target = load_gemma4(kGoldens + golden + "/target", pool);
    ASSERT_TRUE(target.ok());
    EXPECT_TRUE(check_fits(w.config, target->config).ok());
    EXPECT_LE(w.bytes_per_draft(), w.total_bytes());
    EXPECT_EQ(w.bytes_per_draft() == w.total_bytes(), !ordered);
  }
}

// Each cluster's rows are those of its tokens.
TEST(MtpBinding, ClustersHoldTheRowsOfTheirTokens) {
  ChangedCheckpoint checkpoint("ple/assistant");
  const auto weights = loaded(checkpoint);
  ASSERT_TRUE(weights.ok());
  const auto& rows = checkpoint.at("model.embed_tokens.weight").bytes;
  const MtpWeights& w = **weights;
  ASSERT_EQ(w.cluster_size(), 12);
  for (int32_t cluster = 0; cluster < 32; ++cluster) {
    const Matrix mine = w.clusters.at(cluster);
    for (int32_t t = 0; t < 12; ++t) {
      const auto token = static_cast<size_t>(w.cluster_tokens[static_cast<size_t>(cluster * 12 + t)]);
      EXPECT_EQ(id_at(checkpoint, static_cast<size_t>(cluster * 12 + t)), static_cast<int64_t>(token));
      const auto* ours = static_cast<const std::byte*>(mine.values) + static_cast<size_t>(t) * mine.row_value_bytes();
      EXPECT_EQ(std::memcmp(ours, rows.data() + token * 128, 128), 0) << cluster << ", " << t;
    }
  }
}

TEST(MtpBinding, NamesMissingAndSurplusTensors) {
  for (const auto& [name, shape] :
       {std::pair{"pre_projection.weight", "[64, 192]"}, std::pair{"post_projection.weight", "[96, 64]"},
        std::pair{"model.embed_tokens.weight", "[384, 64]"}, std::pair{"model.norm.weight", "[64]"},
        std::pair{"model.layers.3.self_attn.q_norm.weight", "[32]"}, std::pair{"model.layers.2.layer_scalar", "[1]"},
        std::pair{"masked_embedding.centroids.weight", "[32, 64]"},
        std::pair{"masked_embedding.token_ordering", "[384]"}}) {
    ChangedCheckpoint checkpoint("ple/assistant");
    checkpoint.erase(name);
    EXPECT_THAT(drafter_error(checkpoint),
                HasSubstr(std::string("tensor \"") + name + "\" is missing; expected it with shape " + shape));
  }
  ChangedCheckpoint surplus("dense/assistant");
  surplus.add("masked_embedding.centroids.weight", DType::bf16, {32, 64});
  EXPECT_THAT(drafter_error(surplus), HasSubstr("\"masked_embedding.centroids.weight\" belongs to nothing"));
  ChangedCheckpoint dead("dense/assistant");
  dead.add("model.layers.0.self_attn.k_proj.weight", DType::bf16, {32, 64});
  dead.add("lm_head.weight", DType::bf16, {384, 64});
  EXPECT_TRUE(loaded(dead).ok());
}

TEST(MtpBinding, RefusesAnOrderingThatIsNone) {
  const auto with = [](size_t at, int64_t id) {
    ChangedCheckpoint checkpoint("ple/assistant");
    set_id(checkpoint, at, id);
    return drafter_error(checkpoint);
  };
  EXPECT_THAT(with(7, 384), HasSubstr("token_ordering\": expected ids from 0 to 383, found 384 at 7"));
  EXPECT_THAT(with(383, -1), HasSubstr("found -1 at 383"));
  EXPECT_THAT(with(0, int64_t{1} << 32), HasSubstr("found 4294967296 at 0"));
  EXPECT_THAT(with(0, INT64_MIN), HasSubstr("expected ids from 0 to 383"));
  ChangedCheckpoint twice("ple/assistant");
  const int64_t id = id_at(twice, 5);
  set_id(twice, 9, id);
  EXPECT_THAT(drafter_error(twice), HasSubstr("expected each id once, found " + std::to_string(id) + " again at 9"));
  ChangedCheckpoint floats("ple/assistant");
  floats.reshape("masked_embedding.token_ordering", {384}, DType::f32);
  EXPECT_THAT(drafter_error(floats), HasSubstr("expected I64 or I32, found F32"));
  ChangedCheckpoint shorter("ple/assistant");
  shorter.reshape("masked_embedding.token_ordering", {383}, DType::i64);
  EXPECT_THAT(drafter_error(shorter), HasSubstr("expected shape [384], found [383]"));
}

TEST(MtpBinding, RefusesWhatItDoesNotCompute) {
  ChangedCheckpoint own_kv("dense/assistant");
  replace(own_kv.config, "\"num_kv_shared_layers\": 4", "\"num_kv_shared_layers\": 3");
  EXPECT_THAT(drafter_error(own_kv), HasSubstr("layer 0 has its own keys and values"));
  ChangedCheckpoint untied("dense/assistant");
  replace(untied.config, "\"tie_word_embeddings\": true", "\"tie_word_embeddings\": false");
  replace(untied.config, "\"tie_word_embeddings\": true", "\"tie_word_embeddings\": false");
  EXPECT_THAT(drafter_error(untied), HasSubstr("tie_word_embeddings: expected true in a drafter"));
  ChangedCheckpoint wide("dense/assistant");
  replace(wide.config, "\"backbone_hidden_size\": 96", "\"backbone_hidden_size\": 40000");
  EXPECT_THAT(drafter_error(wide), HasSubstr("pre_projection.weight\": expected at most 65536 columns, found 80000"));
  ChangedCheckpoint target("dense/target");
  EXPECT_THAT(drafter_error(target), HasSubstr("model_type"));
}

TEST(MtpFit, NamesBothValues) {
  ThreadPool pool(1);
  const AssistantConfig drafter = load_mtp(kGoldens + "dense/assistant", pool).value()->config;
  const Gemma4Config target = load_gemma4(kGoldens + "dense/target", pool).value().config;
  const auto error = [&](const auto& change) {
    AssistantConfig d = drafter;
    Gemma4Config t = target;
    change(d, t);
    const Status fits = check_fits(d, t);
    EXPECT_FALSE(fits.ok());
    return fits.ok() ? "" : fits.error().message;
  };
  using D = AssistantConfig;
  using T = Gemma4Config;
  EXPECT_TRUE(check_fits(drafter, target).ok());
  EXPECT_THAT(error([](D& d, T&) { d.backbone_hidden = 128; }),
              HasSubstr("the hidden size is 128 in the drafter, 96 in the model"));
  EXPECT_THAT(error([](D&, T& t) { t.vocab = 512; }),
              HasSubstr("the vocabulary is 384 in the drafter, 512 in the model"));
  EXPECT_THAT(error([](D& d, T&) { d.text.layers[0].head_dim = 24; }),
              HasSubstr("the head size of sliding layers is 24 in the drafter, 16 in the model"));
  EXPECT_THAT(error([](D& d, T&) { d.text.layers[3].head_dim = 64; }),
              HasSubstr("the head size of global layers is 64 in the drafter, 32 in the model"));
  EXPECT_THAT(error([](D& d, T&) { d.text.layers[3].kv_heads = 4; }),
              HasSubstr("the number of KV heads of global layers is 4 in the drafter, 1 in the model"));
  EXPECT_THAT(error([](D&, T& t) { t.window = 32; }),
              HasSubstr("the sliding window is 16 in the drafter, 32 in the model"));
  EXPECT_THAT(error([](D&, T& t) {
                for (LayerConfig& layer : t.layers) layer.kind = LayerKind::global;
              }),
              AllOf(HasSubstr("it has sliding layers"), HasSubstr("the model's 6 layers")));
}

// The table in the specification: which layers of the five sizes are read.
TEST(MtpFit, SyntheticDraftersFitTheirModels) {
  for (const std::string_view name : synthetic_names()) {
    const auto target = synthetic_config(name);
    const auto drafter = synthetic_mtp_config(name);
    ASSERT_TRUE(target.ok() && drafter.ok()) << name;
    const Status fits = check_fits(*drafter, *target);
    EXPECT_TRUE(fits.ok()) << name << ": " << (fits.ok() ? "" : fits.error().message);
    EXPECT_EQ(drafter->text.layer_count(), 4);
    for (const LayerConfig& layer : drafter->text.layers) EXPECT_EQ(drafter->text.heads % layer.kv_heads, 0) << name;
  }
  const struct {
    const char* name;
    int32_t sliding, global;
  } read[] = {{"e2b", 13, 14}, {"e4b", 22, 23}, {"12b", 46, 47}, {"26b-a4b", 28, 29}, {"31b", 58, 59}};
  for (const auto& one : read) {
    const auto target = synthetic_config(one.name);
    ASSERT_TRUE(target.ok());
    EXPECT_EQ(mtp_source_layer(*target, LayerKind::sliding), one.sliding) << one.name;
    EXPECT_EQ(mtp_source_layer(*target, LayerKind::global), one.global) << one.name;
  }
}

}  // namespace
}  // namespace paceline
