// What files of Qwen say in their keys, as config.json; the round trip over whole files is in proof/gguf_qwen_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <map>

#include "weights/gguf/gguf_words.h"
#include "weights/gguf/gguf_writer_for_tests.h"
#include "weights/scratch_folder.h"

namespace paceline {
namespace {

using testing::HasSubstr;

std::string integer_array(const std::vector<int32_t>& values) {
  std::string bytes = GgufBytes::raw<uint32_t>(5) + GgufBytes::raw<uint64_t>(values.size());
  for (const int32_t value : values) bytes += GgufBytes::raw(value);
  return bytes;
}

// Qwen3.5 with eight layers and its own drafter behind them.
GgufBytes qwen35() {
  GgufBytes made;
  made.string("general.architecture", "qwen35").u32("qwen35.block_count", 9).u32("qwen35.nextn_predict_layers", 1);
  made.u32("qwen35.context_length", 4096).u32("qwen35.embedding_length", 64).u32("qwen35.feed_forward_length", 128);
  made.u32("qwen35.attention.head_count", 4).u32("qwen35.attention.key_length", 48);
  made.u32("qwen35.rope.dimension_count", 14).f32("qwen35.rope.freq_base", 1e7f);
  made.u32("qwen35.ssm.conv_kernel", 4).u32("qwen35.ssm.state_size", 16).u32("qwen35.ssm.group_count", 2);
  made.u32("qwen35.ssm.time_step_rank", 4).u32("qwen35.ssm.inner_size", 96);
  made.string("tokenizer.ggml.model", "gpt2").string("tokenizer.ggml.pre", "qwen35");
  made.strings("tokenizer.ggml.tokens", {"a", "b", "<think>", "[PAD3]"}).strings("tokenizer.ggml.merges", {"a b"});
  made.key("tokenizer.ggml.token_type", 9, integer_array({1, 1, 4, 5}));
  made.tensor("token_embd.weight", {64, 4}, 0, std::string(4 * 64 * 4, '\0'));
  return made;
}

struct ReadQwen {
  ScratchFolder folder;
  Result<GgufFiles> files;
  Result<GgufVocabulary> vocabulary;
  Result<GgufConfigs> configs;

  explicit ReadQwen(const GgufBytes& made)
      : files(GgufFiles::open(folder.write("m.gguf", made.bytes()))),
        vocabulary(GgufVocabulary::read(files->metadata(), 4)),
        configs(qwen_gguf_configs(*files, *vocabulary)) {}
  [[nodiscard]] std::string message() const { return configs.ok() ? "" : configs.error().message; }
};

TEST(QwenGgufConfig, LayersWithoutKeysAreRecurrent) {
  const ReadQwen read(qwen35().u32("qwen35.attention.head_count_kv", 2));
  ASSERT_EQ(read.message(), "");
  const boost::json::object& config = read.configs->config;
  EXPECT_EQ(config.at("model_type"), "qwen3_5_text");
  EXPECT_EQ(config.at("num_hidden_layers"), 8);
  EXPECT_EQ(config.at("mtp_num_hidden_layers"), 1);
  EXPECT_EQ(config.at("num_key_value_heads"), 2);
  EXPECT_EQ(config.at("linear_value_head_dim"), 24);
  EXPECT_TRUE(config.at("linear_value_heads_dealt").as_bool() && config.at("norm_weights_whole").as_bool());
  // What is read with it is what was written.
  EXPECT_EQ(static_cast<int>(config.at("partial_rotary_factor").as_double() * 48), 14);
  const boost::json::array& types = config.at("layer_types").as_array();
  ASSERT_EQ(types.size(), 8u);
  EXPECT_EQ(types[2], "linear_attention");
  EXPECT_EQ(types[3], "full_attention");
}

TEST(QwenGgufConfig, SpellingsOfOtherWriters) {
  GgufBytes made = qwen35();
  made.key("qwen35.attention.head_count_kv", 9, integer_array({0, 0, 2, 2, 0, 0, 0, 2, 2}));
  made.booleans("qwen35.attention.recurrent_layers", {true, true, false, false, true, true, true, false, false});
  made.key("qwen35.ssm.v_head_reordered", 7, GgufBytes::raw<uint8_t>(0));
  made.string("qwen35.rope.scaling.type", "yarn").f32("qwen35.rope.scaling.factor", 4);
  made.u32("qwen35.rope.scaling.original_context_length", 1024);
  const ReadQwen read(made);
  ASSERT_EQ(read.message(), "");
  const boost::json::object& config = read.configs->config;
  EXPECT_EQ(config.at("num_key_value_heads"), 2);
  EXPECT_FALSE(config.at("linear_value_heads_dealt").as_bool());
  EXPECT_EQ(config.at("layer_types").as_array()[2], "full_attention");
  EXPECT_EQ(config.at("rope_scaling").at("factor"), 4.0);
  EXPECT_EQ(config.at("rope_scaling").at("original_max_position_embeddings"), 1024);
}

TEST(QwenGgufConfig, RefusesWhatDoesNotFit) {
  const auto with_heads = [] { return qwen35().u32("qwen35.attention.head_count_kv", 2); };
  EXPECT_THAT(ReadQwen(qwen35()).message(), HasSubstr("head_count_kv"));
  GgufBytes uneven = qwen35();
  uneven.key("qwen35.attention.head_count_kv", 9, integer_array({1, 2, 2, 2, 2, 2, 2, 2, 2}));
  EXPECT_THAT(ReadQwen(uneven).message(), HasSubstr("one number for all layers"));
  EXPECT_THAT(ReadQwen(with_heads().string("qwen35.rope.scaling.type", "linear")).message(), HasSubstr("yarn"));
  EXPECT_THAT(ReadQwen(with_heads().booleans("qwen35.attention.recurrent_layers", {true})).message(),
              HasSubstr("recurrent_layers"));
  EXPECT_THAT(ReadQwen(with_heads().u32("qwen35.full_attention_interval", 0)).message(), HasSubstr("interval"));
}

// Names and shapes as a folder has them; both spellings of one.
TEST(QwenGgufTensors, AreCalledAsInAFolder) {
  for (const char* bias : {"blk.0.ssm_dt.bias", "blk.0.ssm_dt"}) {
    GgufBytes made = qwen35();
    made.u32("qwen35.attention.head_count_kv", 2).tensor(bias, {4}, 0, std::string(16, '\1'));
    made.tensor("blk.0.ssm_conv1d.weight", {4, 160}, 0, std::string(4 * 4 * 160, '\0'));
    made.tensor("blk.8.nextn.eh_proj.weight", {128, 2}, 0, std::string(4 * 256, '\0'));
    made.tensor("blk.8.attn_q.weight", {64, 2}, 0, std::string(4 * 128, '\0'));
    made.tensor("v.patch_embd.weight", {4}, 0, std::string(16, '\0'));
    const ReadQwen read(made);
    GgufTensors tensors;
    ASSERT_TRUE(add_qwen_tensors(*read.files, &tensors).ok());
    std::map<std::string, std::vector<int64_t>> shapes;
    for (const TensorView& view : tensors.take()) shapes[view.name] = view.shape;
    EXPECT_EQ(shapes,
              (std::map<std::string, std::vector<int64_t>>{{"model.embed_tokens.weight", {4, 64}},
                                                           {"model.layers.0.linear_attn.dt_bias", {4}},
                                                           {"model.layers.0.linear_attn.conv1d.weight", {160, 1, 4}},
                                                           {"mtp.fc.weight", {2, 128}},
                                                           {"mtp.layers.0.self_attn.q_proj.weight", {2, 64}}}));
  }
  EXPECT_EQ(qwen_gguf_name("model.layers.3.linear_attn.dt_bias", {8, 1}, true), "blk.3.ssm_dt.bias");
}

// Rows without a token have none, and what users define is shown.
TEST(QwenGgufConfig, KindsOfTokens) {
  const ReadQwen read(qwen35().u32("qwen35.attention.head_count_kv", 2));
  EXPECT_EQ(read.vocabulary->vocab_json().value(), R"({"a":0,"b":1})");
  const std::string config = read.vocabulary->tokenizer_config_json().value();
  EXPECT_THAT(config, HasSubstr(R"("2":{"content":"<think>","normalized":false,"special":false})"));
  EXPECT_THAT(config, testing::Not(HasSubstr("PAD3")));
  EXPECT_THAT(config, HasSubstr(R"([\\p{L}\\p{M}]+)"));
}

}  // namespace
}  // namespace paceline
