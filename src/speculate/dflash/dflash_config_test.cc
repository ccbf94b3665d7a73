#include "speculate/dflash/dflash_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "model/gemma4/weights.h"

namespace paceline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A config of a first DFlash drafter; `more` comes behind it, and `inner` into dflash_config.
std::string config(const std::string& more = "", const std::string& inner = R"("mask_token_id": 4)",
                   const char* architecture = "DFlashDraftModel") {
  return std::string(R"({"architectures": [")") + architecture +
         R"("], "hidden_size": 96, "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2,
             "head_dim": 24, "intermediate_size": 192, "dflash_config": {)" +
         inner + "}" + (more.empty() ? "" : ", " + more) + "}";
}

DflashConfig read(const std::string& json) {
  const auto found = read_dflash_config(json);
  EXPECT_TRUE(found.ok()) << found.error().message;
  return found.ok() ? *found : DflashConfig();
}

std::string error_of(const std::string& json) {
  const auto found = read_dflash_config(json);
  return found.ok() ? "" : found.error().message;
}

TEST(DflashConfig, WhatIsNotSaidIsAsPublished) {
  const DflashConfig c = read(config());
  EXPECT_EQ(c.block_size, 16);
  EXPECT_EQ(c.rms_eps, 1e-6f);
  EXPECT_FALSE(c.has_bias);
  EXPECT_EQ(c.window, 0);
  EXPECT_EQ(c.output_multiplier, 1.0f);
  EXPECT_FALSE(c.embedding_scale || c.softcap || c.yarn);
  for (const DflashLayerConfig& layer : c.layers) EXPECT_EQ(layer, (DflashLayerConfig{false, false}));
  // Spread over the target, halves to even.
  EXPECT_THAT(tapped_layers(c, 6), ElementsAre(1, 2, 3));
  EXPECT_THAT(tapped_layers(c, 60), ElementsAre(1, 29, 57));
  DflashConfig one = c;
  one.layers.resize(1);
  EXPECT_THAT(tapped_layers(one, 9), ElementsAre(4));
}

TEST(DflashConfig, KeysStandInEitherPlace) {
  const DflashConfig c = read(config(
      R"("block_size": 12, "mask_token_id": 9, "target_layer_ids": [3], "input_embedding_scale": 2)",
      R"("mask_token_id": 4, "target_layer_ids": [1, 2], "final_logit_softcapping": 30, "output_multiplier": 0.5)"));
  EXPECT_EQ(c.block_size, 12);
  EXPECT_EQ(c.mask, 4);
  EXPECT_THAT(c.tapped, ElementsAre(1, 2));
  EXPECT_EQ(c.embedding_scale, 2.0f);
  EXPECT_EQ(c.softcap, 30.0f);
  EXPECT_EQ(c.output_multiplier, 0.5f);
}

TEST(DflashConfig, SlidingLayersAreCausalUnlessToldOtherwise) {
  const std::string layers = R"("layer_types": ["sliding_attention", "full_attention", "sliding_attention"],
                                "sliding_window": 20)";
  const DflashConfig mixed = read(config(layers));
  EXPECT_THAT(mixed.layers, ElementsAre(DflashLayerConfig{true, true}, DflashLayerConfig{false, false},
                                        DflashLayerConfig{true, true}));
  EXPECT_EQ(mixed.window, 20);
  for (const bool causal : {true, false}) {
    const std::string said = causal ? "true" : "false";
    for (const DflashLayerConfig& layer : read(config(layers + R"(, "is_causal": )" + said)).layers)
      EXPECT_EQ(layer.causal, causal);
    for (const DflashLayerConfig& layer : read(config(layers, R"("mask_token_id": 4, "causal": )" + said)).layers)
      EXPECT_EQ(layer.causal, causal);
  }
  EXPECT_EQ(read(config(layers + R"(, "use_sliding_window": false)")).window, 0);
  EXPECT_THAT(error_of(config(R"("layer_types": ["sliding_attention", "full_attention", "full_attention"])")),
              HasSubstr("sliding_window"));
}

TEST(DflashConfig, RopeInBothSpellings) {
  EXPECT_EQ(read(config(R"("rope_theta": 1000000, "rope_scaling": null)")).rope_theta, 1e6);
  const DflashConfig c = read(config(
      R"("rope_parameters": {"rope_type": "yarn", "rope_theta": 1e6, "factor": 4, "original_max_position_embeddings": 32768})"));
  ASSERT_TRUE(c.yarn);
  EXPECT_NEAR(c.yarn->attention_factor, 1 + 0.1 * std::log(4.0), 1e-12);
  // The fastest stay, the slowest are divided by the factor.
  const auto plain = rope_frequencies(1e6, 128, std::nullopt), stretched = rope_frequencies(1e6, 128, c.yarn);
  EXPECT_EQ(stretched.front(), plain.front());
  EXPECT_FLOAT_EQ(stretched.back(), plain.back() / 4);
  for (size_t i = 0; i < plain.size(); ++i) {
    EXPECT_LE(stretched[i], plain[i]);
    EXPECT_GE(stretched[i], plain[i] / 4.0001f);
  }
  EXPECT_THAT(error_of(config(R"("rope_scaling": {"rope_type": "llama3"})")), HasSubstr("rope_type"));
}

TEST(DflashConfig, RefusesByName) {
  const struct {
    std::string json;
    const char* names;
  } cases[] = {
      {config("", ""), "mask_token_id"},
      {config(R"("hidden_act": "gelu")"), "hidden_act"},
      {config(R"("sample_from_anchor": true)"), "sample_from_anchor"},
      {config("", R"("mask_token_id": 4, "sample_from_anchor": true)"), "sample_from_anchor"},
      {config(R"("draft_vocab_size": 32000)"), "draft_vocab_size"},
      {config("", R"("mask_token_id": 4, "block_size": 1)"), "block_size"},
      {config(R"("layer_types": ["full_attention"])"), "layer_types"},
      {config(R"("target_layer_ids": [])"), "target_layer_ids"},
      {config("", R"("mask_token_id": 4)", "DFlash2DraftModel"), "conv_kernel_size"},
      {config("", R"("mask_token_id": 4)", "EagleModel"), "architectures"},
      {"{}", "architectures"},
      {"[1]", "object"},
  };
  for (const auto& one : cases) EXPECT_THAT(error_of(one.json), HasSubstr(one.names)) << one.json;
}

TEST(DflashConfig, ReadsTheSecond) {
  const DflashConfig c = read(config("",
                                     R"("mask_token_id": 4, "conv_kernel_size": 2, "conv_group_size": 16,
                                        "selector_rank": 16, "selector_top_k": 4)",
                                     "DFlash2DraftModel"));
  EXPECT_EQ(c.conv.taps, 2);
  EXPECT_EQ(c.conv.group, 16);
  EXPECT_EQ(c.selector.rank, 16);
  EXPECT_EQ(c.selector.top, 4);
}

// Both sides are named.
TEST(DflashConfig, SaysWhatDoesNotFit) {
  Gemma4Weights target;
  target.config.hidden = 96;
  target.config.vocab = 384;
  target.config.layers.resize(6);
  const DflashConfig fits = read(config(R"("num_target_layers": 6, "vocab_size": 384)"));
  EXPECT_TRUE(check_fits(fits, target).ok());
  const auto error = [&](auto change) {
    DflashConfig drafter = fits;
    change(drafter);
    const Status status = check_fits(drafter, target);
    return status.ok() ? "" : status.error().message;
  };
  EXPECT_THAT(error([](DflashConfig& c) { c.hidden = 64; }),
              HasSubstr("the hidden size is 64 in the drafter, 96 in the model"));
  EXPECT_THAT(error([](DflashConfig& c) { c.vocab = 99; }),
              HasSubstr("the vocabulary is 99 in the drafter, 384 in the model"));
  EXPECT_THAT(error([](DflashConfig& c) { c.target_layers = 8; }), HasSubstr("is 8 in the drafter, 6 in the model"));
  EXPECT_THAT(error([](DflashConfig& c) { c.tapped = {1, 5}; }), HasSubstr("layer 5; of the model's 6 layers"));
  EXPECT_THAT(error([](DflashConfig& c) { c.mask = 384; }), HasSubstr("mask_token_id"));
}

}  // namespace
}  // namespace paceline
