#include "model/qwen/config_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>

#include "base/regular_file.h"

namespace paceline::qwen {
namespace {

namespace json = boost::json;
using testing::HasSubstr;

std::string golden(const std::string& name) {
  return read_file(PACELINE_SOURCE_DIR "/tests/goldens/" + name + "/target/config.json", 1 << 20).value();
}

// The golden's config with fields set (null: erased), in its text_config where it has one.
std::string edited(const std::string& name, const json::object& changes) {
  json::object config = json::parse(golden(name)).as_object();
  json::object& text = config.contains("text_config") ? config["text_config"].as_object() : config;
  for (const auto& [key, value] : changes) {
    if (value.is_null()) {
      text.erase(key);
    } else {
      text[key] = value;
    }
  }
  return json::serialize(config);
}

QwenConfig must_read(const std::string& name, const json::object& changes = {}) {
  auto read = read_config(edited(name, changes), "");
  EXPECT_TRUE(read.ok()) << (read.ok() ? "" : read.error().message);
  return read.ok() ? *read : QwenConfig{};
}

std::string error_of(const std::string& name, const json::object& changes) {
  const auto read = read_config(edited(name, changes), "");
  EXPECT_FALSE(read.ok()) << json::serialize(changes);
  return read.ok() ? "" : read.error().message;
}

TEST(QwenConfigReader, Dense) {
  const QwenConfig c = must_read("qwen3");
  EXPECT_EQ(c.model_type, "qwen3");
  EXPECT_EQ(c.hidden, 96);
  EXPECT_EQ(c.heads, 4);
  EXPECT_EQ(c.kv_heads, 2);
  EXPECT_EQ(c.head_dim, 32);
  EXPECT_EQ(c.rotary, 32);
  EXPECT_EQ(c.rope_theta, 1e6);
  EXPECT_EQ(c.ffn, 256);
  EXPECT_EQ(c.layer_count(), 6);
  EXPECT_TRUE(c.tied_head);
  EXPECT_FALSE(c.is_recurrent() || c.gates_attention || c.norms_from_one || c.yarn);
  EXPECT_EQ(c.experts, 0);
  EXPECT_EQ(c.top_k, 20);
  EXPECT_FLOAT_EQ(c.temperature, 0.6f);
}

TEST(QwenConfigReader, RecurrentWithExperts) {
  const QwenConfig c = must_read("qwen35-moe");
  EXPECT_TRUE(c.is_recurrent() && c.gates_attention && c.norms_from_one && c.divides_shares);
  EXPECT_EQ(c.delta, (kernels::DeltaShape{2, 4, 16, 16, 4}));
  EXPECT_EQ(c.rotary, 8);
  EXPECT_EQ(c.experts, 8);
  EXPECT_EQ(c.experts_per_token, 2);
  EXPECT_EQ(c.shared_ffn, 48);
  ASSERT_EQ(c.layer_count(), 4);
  EXPECT_EQ(c.layers[2], (LayerConfig{Mixer::delta, true}));
  EXPECT_EQ(c.layers[3], (LayerConfig{Mixer::attention, true}));
  EXPECT_FLOAT_EQ(c.temperature, 1.0f);
}

TEST(QwenConfigReader, WhatIsNotSaid) {
  // Every fourth layer attends, heads share the width, and no embedding is lent to the head.
  const QwenConfig c = must_read("qwen35", {{"layer_types", nullptr}, {"rope_parameters", nullptr}});
  const QwenConfig as_said = must_read("qwen35");
  EXPECT_EQ(c.layers, as_said.layers);
  EXPECT_EQ(c.rotary, as_said.rotary);
  EXPECT_EQ(c.rope_theta, 10000.0);
  EXPECT_EQ(must_read("qwen3", {{"head_dim", nullptr}}).head_dim, 24);
  EXPECT_EQ(must_read("qwen3", {{"num_key_value_heads", nullptr}}).kv_heads, 4);
  EXPECT_EQ(must_read("qwen3", {{"rope_parameters", nullptr}, {"rope_theta", 5e5}}).rope_theta, 5e5);
}

TEST(QwenConfigReader, ExpertsOfSomeLayers) {
  const json::object experts = {{"model_type", "qwen3_moe"},   {"num_local_experts", 8},   {"num_experts_per_tok", 2},
                                {"moe_intermediate_size", 32}, {"decoder_sparse_step", 2}, {"mlp_only_layers", {3}}};
  const QwenConfig c = must_read("qwen3", experts);
  EXPECT_EQ(c.experts, 8);
  EXPECT_FALSE(c.divides_shares);
  const bool has[] = {false, true, false, false, false, true};
  for (size_t i = 0; i < c.layers.size(); ++i) EXPECT_EQ(c.layers[i].experts, has[i]) << i;
  json::object bad = experts;
  bad["mlp_only_layers"] = {6};
  EXPECT_THAT(error_of("qwen3", bad), HasSubstr("mlp_only_layers"));
  bad = experts;
  bad["num_experts_per_tok"] = 9;
  EXPECT_THAT(error_of("qwen3", bad), HasSubstr("num_experts_per_tok"));
}

TEST(QwenConfigReader, Stretched) {
  const json::object yarn = {
      {"rope_type", "yarn"}, {"rope_theta", 1e6}, {"factor", 4.0}, {"original_max_position_embeddings", 4096}};
  const QwenConfig c = must_read("qwen3", {{"rope_parameters", yarn}});
  ASSERT_TRUE(c.yarn);
  EXPECT_EQ(c.yarn->factor, 4.0);
  EXPECT_EQ(c.context, 16384);
  // The older spelling.
  json::object older = yarn;
  older.erase("rope_type");
  older["type"] = "yarn";
  EXPECT_EQ(must_read("qwen3", {{"rope_parameters", nullptr}, {"rope_theta", 1e6}, {"rope_scaling", older}}), c);
  // Where nothing says what was stretched, the context stays.
  json::object shorter = yarn;
  shorter.erase("original_max_position_embeddings");
  EXPECT_EQ(must_read("qwen3", {{"rope_parameters", shorter}}).context, 4096);
  EXPECT_THAT(error_of("qwen3", {{"rope_parameters", {{"rope_type", "longrope"}}}}), HasSubstr("rope_type"));
}

TEST(QwenConfigReader, WhatCannotBe) {
  EXPECT_THAT(error_of("qwen3", {{"hidden_act", "gelu"}}), HasSubstr("hidden_act"));
  EXPECT_THAT(error_of("qwen3", {{"attention_bias", true}}), HasSubstr("attention_bias"));
  EXPECT_THAT(error_of("qwen3", {{"use_sliding_window", true}}), HasSubstr("use_sliding_window"));
  EXPECT_THAT(error_of("qwen3", {{"num_key_value_heads", 3}}), HasSubstr("num_key_value_heads"));
  EXPECT_THAT(error_of("qwen3", {{"layer_types", {"full_attention"}}}), HasSubstr("layer_types"));
  EXPECT_THAT(error_of("qwen3", {{"num_hidden_layers", 0}}), HasSubstr("num_hidden_layers"));
  EXPECT_THAT(error_of("qwen3", {{"vocab_size", 1e30}}), HasSubstr("vocab_size"));
  EXPECT_THAT(error_of("qwen35", {{"attn_output_gate", false}}), HasSubstr("attn_output_gate"));
  EXPECT_THAT(error_of("qwen35", {{"linear_num_value_heads", 3}}), HasSubstr("linear_num_value_heads"));
  EXPECT_THAT(error_of("qwen35", {{"partial_rotary_factor", 0.01}, {"rope_parameters", nullptr}}),
              HasSubstr("partial_rotary_factor"));
  EXPECT_FALSE(is_qwen_config(R"({"model_type": "gemma4"})"));
  EXPECT_FALSE(is_qwen_config("{"));
  EXPECT_TRUE(is_qwen_config(golden("qwen35-moe")));
}

}  // namespace
}  // namespace paceline::qwen
