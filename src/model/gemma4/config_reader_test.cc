#include "model/gemma4/config_reader.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <random>

#include "base/regular_file.h"
#include "model/gemma4/state_of.h"
#include "state/kv.h"

namespace paceline {
namespace {

namespace json = boost::json;
using testing::ElementsAre;
using testing::HasSubstr;

std::string golden(const std::string& path) {
  return read_file(PACELINE_SOURCE_DIR "/tests/goldens/" + path, 1 << 20).value();
}

Gemma4Config must_read(const std::string& config, const std::string& generation = "") {
  auto read = read_config(config, generation);
  EXPECT_TRUE(read.ok()) << (read.ok() ? "" : read.error().message);
  return read.ok() ? *read : Gemma4Config{};
}

// The golden's config with fields set (null: erased).
std::string edited(const std::string& path, const json::object& changes) {
  json::object config = json::parse(golden(path)).as_object();
  for (const auto& [key, value] : changes) {
    if (value.is_null()) {
      config.erase(key);
    } else {
      config[key] = value;
    }
  }
  return json::serialize(config);
}

std::string error_of(const json::object& changes, const std::string& path = "dense/target/config.json") {
  const auto read = read_config(edited(path, changes), "");
  EXPECT_FALSE(read.ok()) << json::serialize(changes);
  return read.ok() ? "" : read.error().message;
}

TEST(ConfigReader, Dense) {
  const Gemma4Config c = must_read(golden("dense/target/config.json"), golden("dense/target/generation_config.json"));
  EXPECT_EQ(c.model_type, "gemma4_text");
  EXPECT_EQ(c.hidden, 96);
  EXPECT_EQ(c.heads, 4);
  EXPECT_EQ(c.vocab, 384);
  EXPECT_EQ(c.window, 16);
  EXPECT_EQ(c.context, 4096);
  EXPECT_EQ(c.softcap, 30.0f);
  EXPECT_EQ(c.rope_global, (RopeConfig{1e6, 0.25}));
  EXPECT_EQ(c.rope_sliding, (RopeConfig{1e4, 1.0}));
  ASSERT_EQ(c.layer_count(), 6);
  EXPECT_EQ(c.layers[1], (LayerConfig{LayerKind::sliding, 16, 2, 256, 1, false}));
  EXPECT_EQ(c.layers[5], (LayerConfig{LayerKind::global, 32, 1, 256, 5, true}));
  EXPECT_THAT(c.stop_ids, ElementsAre(1));
  EXPECT_EQ(c.ids.bos, 2);
  EXPECT_EQ(c.ids.pad, 0);
  EXPECT_EQ(c.ids.image, -1);
  EXPECT_EQ(c.experts, 0);
  EXPECT_EQ(c.top_k, 64);
}

TEST(ConfigReader, Experts) {
  const Gemma4Config c = must_read(golden("moe/target/config.json"));
  EXPECT_EQ(c.experts, 8);
  EXPECT_EQ(c.experts_per_token, 2);
  EXPECT_EQ(c.expert_ffn, 64);
}

TEST(ConfigReader, SharedKeysAndPerLayerEmbeddings) {
  const Gemma4Config c = must_read(golden("ple/target/config.json"));
  EXPECT_EQ(c.ple_width, 16);
  EXPECT_EQ(c.ple_vocab, 384);
  std::vector<int32_t> kv_layers, ffns;
  for (const LayerConfig& layer : c.layers) {
    kv_layers.push_back(layer.kv_layer);
    ffns.push_back(layer.ffn);
  }
  EXPECT_THAT(kv_layers, ElementsAre(0, 1, 2, 3, 2, 2, 2, 3));
  EXPECT_THAT(ffns, ElementsAre(192, 192, 192, 192, 384, 384, 384, 384));
  EXPECT_EQ(c.layers[7].head_dim, 32);
  EXPECT_EQ(c.layers[7].kv_heads, 1);
  EXPECT_FALSE(c.layers[7].value_is_key);
}

TEST(ConfigReader, MultimodalFilesNestTheTextModel) {
  for (const char* name : {"vlm", "vlm-ple", "unified"}) {
    const Gemma4Config c = must_read(golden(std::string(name) + "/target/config.json"));
    EXPECT_EQ(c.ids.image_begin, 5) << name;
    EXPECT_EQ(c.ids.image_end, 6) << name;
    EXPECT_EQ(c.ids.image, 7) << name;
    EXPECT_EQ(c.ids.video, 8) << name;
    EXPECT_EQ(c.ids.audio_begin, 9) << name;
    EXPECT_EQ(c.ids.audio_end, 10) << name;
    EXPECT_EQ(c.ids.audio, 11) << name;
    EXPECT_EQ(c.ids.bos, 2) << name;
    EXPECT_EQ(c.window, 64) << name;
    EXPECT_EQ(c.images_see_both_ways, std::string(name) != "vlm-ple") << name;
    EXPECT_EQ(c.both_ways_globally, std::string(name) == "unified") << name;
  }
}

TEST(ConfigReader, BothSpellingsAreEqual) {
  const Gemma4Config newer = must_read(golden("dense/target/config.json"));
  const Gemma4Config older =
      must_read(edited("dense/target/config.json",
                       {{"per_layer_config", nullptr}, {"global_head_dim", 32}, {"num_global_key_value_heads", 1}}));
  EXPECT_EQ(newer, older);
  const Gemma4Config ple = must_read(golden("ple/target/config.json"));
  const Gemma4Config older_ple =
      must_read(edited("ple/target/config.json", {{"per_layer_config", nullptr}, {"global_head_dim", 32}}));
  EXPECT_EQ(ple, older_ple);
}

TEST(ConfigReader, DefaultsOfWhatIsAbsent) {
  const Gemma4Config c = must_read(edited("dense/target/config.json", {{"layer_types", nullptr},
                                                                       {"rope_parameters", nullptr},
                                                                       {"per_layer_config", nullptr},
                                                                       {"num_hidden_layers", 8}}));
  std::vector<bool> global;
  for (const LayerConfig& layer : c.layers) global.push_back(layer.kind == LayerKind::global);
  EXPECT_THAT(global, ElementsAre(false, false, false, false, false, true, false, true));
  EXPECT_EQ(c.rope_global, (RopeConfig{1e6, 0.25}));
  EXPECT_EQ(c.rope_sliding, (RopeConfig{1e4, 1.0}));
}

TEST(ConfigReader, StopIdsAreUnited) {
  const Gemma4Config c = must_read(edited("dense/target/config.json", {{"eos_token_id", {7, 1}}}),
                                   R"({"eos_token_id":[1,106,50],"temperature":0.5,"top_k":20,"top_p":0.9})");
  EXPECT_THAT(c.stop_ids, ElementsAre(1, 7, 50, 106));
  EXPECT_EQ(c.temperature, 0.5f);
  EXPECT_EQ(c.top_k, 20);
  EXPECT_EQ(c.top_p, 0.9f);
}

TEST(ConfigReader, Quantisation) {
  const Gemma4Config c = must_read(
      edited("dense/target/config.json", {{"quantization",
                                           {{"bits", 4},
                                            {"group_size", 64},
                                            {"mode", "affine"},
                                            {"model.layers.0.mlp.gate_proj", {{"bits", 8}, {"group_size", 32}}},
                                            {"model.embed_tokens", false}}}}));
  EXPECT_EQ(c.quant_bits, 4);
  EXPECT_EQ(c.quant_group, 64);
  EXPECT_THAT(error_of({{"quantization", {{"bits", 3}, {"group_size", 64}}}}),
              HasSubstr("quantization.bits: expected 4 or 8, found 3"));
  EXPECT_THAT(error_of({{"quantization", {{"bits", 4}, {"group_size", 16}}}}),
              HasSubstr("group_size: expected 32, 64 or 128"));
  EXPECT_THAT(error_of({{"quantization", {{"bits", 4}, {"group_size", 32}, {"mode", "mxfp4"}}}}),
              HasSubstr("found \"mxfp4\""));
  EXPECT_THAT(
      error_of({{"quantization_config", {{"quant_method", "eetq"}}}}),
      HasSubstr("quant_method: expected compressed-tensors, modelopt, gptq, auto-round, awq, bitsandbytes, or"));
  EXPECT_THAT(error_of({{"quantization", {{"bits", 4}, {"group_size", 32}, {"x", {{"bits", 6}, {"group_size", 32}}}}}}),
              HasSubstr("quantization.x.bits"));
}

TEST(ConfigReader, ReadsWhatIsNeverToBeSampled) {
  const std::string config = golden("dense/target/config.json");
  EXPECT_THAT(must_read(config, R"({"suppress_tokens": [7, 5]})").suppressed, ElementsAre(7, 5));
  for (const char* wrong :
       {R"({"suppress_tokens": 7})", R"({"suppress_tokens": [384]})", R"({"suppress_tokens": ["x"]})"})
    EXPECT_THAT(read_config(config, wrong).error().message, HasSubstr("suppress_tokens: expected a list of ids"));
}

TEST(ConfigReader, ReadsCompressedTensors) {
  const auto with = [&](const json::object& changes) {
    json::object config{{"quant_method", "compressed-tensors"},
                        {"format", "pack-quantized"},
                        {"config_groups", {{"group_0", {{"weights", {{"num_bits", 4}, {"group_size", 32}}}}}}}};
    for (const auto& [key, value] : changes) config[key] = value;
    return edited("dense/target/config.json", {{"quantization_config", config}});
  };
  EXPECT_EQ(must_read(with({})).quant_bits, 4);
  EXPECT_EQ(must_read(with({})).quant_group, 32);
  for (const char* format : {"float-quantized", "nvfp4-pack-quantized", "mixed-precision"})
    EXPECT_EQ(must_read(with({{"format", format}})).quant_bits, 4);
  for (const char* format : {"int-quantized", "mxfp4-pack-quantized", "marlin-24", ""})
    EXPECT_THAT(read_config(with({{"format", format}}), "").error().message,
                HasSubstr("format: expected \"pack-quantized\", \"float-quantized\""));
  EXPECT_THAT(
      read_config(with({{"format", "mixed-precision"}, {"config_groups", {{"g", {{"format", "mxfp8-quantized"}}}}}}),
                  "")
          .error()
          .message,
      HasSubstr("config_groups.g.format: expected"));
  EXPECT_THAT(read_config(with({{"config_groups", {{"g", {{"weights", {{"num_bits", 3}}}}}}}}), "").error().message,
              HasSubstr("num_bits: expected 4 or 8"));
}

// What is not read is refused by its name.
TEST(ConfigReader, OtherQuantisersAreNamed) {
  const auto error = [&](const json::object& config) {
    return read_config(edited("dense/target/config.json", {{"quantization_config", config}}), "").error().message;
  };
  for (const char* method : {"gemma", "fp8", "mxfp4", "quark", "hqq", "torchao", "fbgemm_fp8", "int8"})
    EXPECT_THAT(error({{"quant_method", method}}), HasSubstr(std::string("found \"") + method + "\"")) << method;
  EXPECT_THAT(error({{"quant_method", "modelopt"}, {"quant_algo", "W4A8_AWQ"}}),
              HasSubstr("quant_algo: expected NVFP4, FP8 or a MIXED_PRECISION of these"));
  EXPECT_THAT(error({{"quant_method", "modelopt"},
                     {"quant_algo", "MIXED_PRECISION"},
                     {"quantized_layers", {{"model.layers.0", {{"quant_algo", "INT4_AWQ"}}}}}}),
              HasSubstr("quantized_layers.model.layers.0.quant_algo"));
  EXPECT_THAT(error({{"quant_method", "gptq"}, {"bits", 3}}), HasSubstr("bits: expected 4 or 8"));
  EXPECT_THAT(error({{"quant_method", "gptq"}, {"bits", 4}, {"checkpoint_format", "marlin"}}),
              HasSubstr("checkpoint_format"));
  EXPECT_THAT(error({{"quant_method", "auto-round"}, {"bits", 4}, {"packing_format", "auto_round:llm_compressor"}}),
              HasSubstr("packing_format: expected \"auto_round:auto_gptq\""));
  EXPECT_THAT(error({{"quant_method", "auto-round"}, {"bits", 8}, {"packing_format", "auto_round:auto_awq"}}),
              HasSubstr("bits: expected 4"));
  EXPECT_THAT(error({{"quant_method", "auto-round"},
                     {"bits", 4},
                     {"packing_format", "auto_round"},
                     {"extra_config", {{"lm_head", {{"sym", true}}}}}}),
              HasSubstr("extra_config.lm_head.sym: expected false"));
  EXPECT_THAT(error({{"quant_method", "awq"}, {"bits", 4}, {"version", "gemv"}}), HasSubstr("version"));
  EXPECT_THAT(error({{"quant_method", "bitsandbytes"}, {"load_in_8bit", true}}), HasSubstr("load_in_4bit"));
}

TEST(ConfigReader, ErrorsNameTheField) {
  EXPECT_THAT(read_config("", "").error().message, HasSubstr("config.json: expected JSON"));
  EXPECT_THAT(read_config("[]", "").error().message, HasSubstr("config.json: expected an object"));
  EXPECT_THAT(read_config(std::string(100000, '['), "").error().message, HasSubstr("expected JSON"));
  EXPECT_THAT(error_of({{"model_type", "llama"}}), HasSubstr("one of gemma4, gemma4_text, gemma4_unified"));
  EXPECT_THAT(error_of({{"model_type", nullptr}}), HasSubstr("model_type: expected a string, found nothing"));
  EXPECT_THAT(error_of({{"hidden_size", 0}}),
              HasSubstr("config.json.hidden_size: expected a whole number from 2 to 65536, found 0"));
  EXPECT_THAT(error_of({{"hidden_size", "big"}}), HasSubstr("found \"big\""));
  EXPECT_THAT(error_of({{"num_hidden_layers", 1 << 20}}), HasSubstr("num_hidden_layers"));
  EXPECT_THAT(error_of({{"num_hidden_layers", 7}}), HasSubstr("layer_types: expected an array of 7"));
  EXPECT_THAT(error_of({{"num_attention_heads", 3}}), HasSubstr("multiple of the 2 KV heads, found 3"));
  EXPECT_THAT(error_of({{"head_dim", 15}}), HasSubstr("even number"));
  EXPECT_THAT(error_of({{"head_dim", 514}}), HasSubstr("514"));  // wider than kernels take
  EXPECT_THAT(error_of({{"sliding_window", 0}}), HasSubstr("sliding_window"));
  EXPECT_THAT(error_of({{"vocab_size", -5}}), HasSubstr("vocab_size"));
  EXPECT_THAT(error_of({{"intermediate_size", 2.5}}), HasSubstr("intermediate_size"));
  EXPECT_THAT(error_of({{"rms_norm_eps", -1.0}}), HasSubstr("rms_norm_eps"));
  EXPECT_THAT(error_of({{"eos_token_id", {1, 384}}}), HasSubstr("eos_token_id: expected ids from 0 to 383"));
  EXPECT_THAT(error_of({{"bos_token_id", 384}}), HasSubstr("bos_token_id"));
  EXPECT_THAT(error_of({{"per_layer_config", {{"6", {{"head_dim", 32}}}}}}),
              HasSubstr("per_layer_config.6: expected a layer number below 6"));
  EXPECT_THAT(error_of({{"per_layer_config", {{"x", {{"head_dim", 32}}}}}}), HasSubstr("per_layer_config.x"));
  EXPECT_THAT(error_of({{"num_kv_shared_layers", 6}}),
              HasSubstr("num_kv_shared_layers: expected a sliding_attention layer"));
  EXPECT_THAT(error_of({{"attention_bias", true}}), HasSubstr("attention_bias: expected false"));
  EXPECT_THAT(error_of({{"hidden_activation", "relu"}}), HasSubstr("hidden_activation"));
  EXPECT_THAT(error_of({{"use_bidirectional_attention", "all"}}), HasSubstr("use_bidirectional_attention"));
  EXPECT_THAT(error_of({{"top_k_experts", 9}}, "moe/target/config.json"), HasSubstr("top_k_experts"));
  EXPECT_THAT(error_of({{"moe_intermediate_size", nullptr}}, "moe/target/config.json"),
              HasSubstr("moe_intermediate_size"));
  EXPECT_THAT(error_of({{"rope_parameters", {{"full_attention", {{"rope_type", "yarn"}}}}}}), HasSubstr("rope_type"));
  EXPECT_THAT(read_config(golden("dense/target/config.json"), R"({"top_p":2})").error().message,
              HasSubstr("generation_config.json.top_p"));
}

TEST(ConfigReader, Assistants) {
  auto plain = read_assistant_config(golden("dense/assistant/config.json"));
  ASSERT_TRUE(plain.ok()) << plain.error().message;
  EXPECT_EQ(plain->backbone_hidden, 96);
  EXPECT_EQ(plain->centroids, 0);
  EXPECT_EQ(plain->text.hidden, 64);
  EXPECT_EQ(plain->text.layers[3].kv_layer, -1);
  EXPECT_EQ(plain->text.softcap, 0.0f);
  auto ordered = read_assistant_config(golden("ple/assistant/config.json"));
  ASSERT_TRUE(ordered.ok()) << ordered.error().message;
  EXPECT_EQ(ordered->centroids, 32);
  EXPECT_EQ(ordered->centroid_top_k, 8);
  EXPECT_FALSE(read_assistant_config(golden("dense/target/config.json")).ok());
  EXPECT_FALSE(read_config(golden("dense/assistant/config.json"), "").ok());
}

struct Family {
  const char* model_type;
  int layers, hidden, ffn, heads, kv_heads, global_kv_heads, pattern, window, shared;
  bool value_is_key;
};

// In the older spelling, or in the newer with zero-padded layer numbers.
std::string family_config(const Family& f, bool older) {
  json::object text = {{"model_type", "gemma4_text"},
                       {"hidden_size", f.hidden},
                       {"num_hidden_layers", f.layers},
                       {"intermediate_size", f.ffn},
                       {"num_attention_heads", f.heads},
                       {"num_key_value_heads", f.kv_heads},
                       {"head_dim", 256},
                       {"sliding_window", f.window},
                       {"num_kv_shared_layers", f.shared},
                       {"attention_k_eq_v", f.value_is_key},
                       {"vocab_size", 262144}};
  json::array types;
  json::object per_layer;
  for (int i = 0; i < f.layers; ++i) {
    const bool global = (i + 1) % f.pattern == 0;
    types.emplace_back(global ? "full_attention" : "sliding_attention");
    if (global) per_layer[fmt::format("{:02}", i)] = {{"head_dim", 512}, {"num_key_value_heads", f.global_kv_heads}};
  }
  text["layer_types"] = types;
  if (older) {
    text["global_head_dim"] = 512;
    text["num_global_key_value_heads"] = f.global_kv_heads;
  } else {
    text["per_layer_config"] = per_layer;
  }
  return json::serialize(json::object{{"model_type", f.model_type}, {"text_config", text}});
}

TEST(ConfigReader, KvMemoryOfTheFamily) {
  const Family e2b = {"gemma4", 35, 1536, 6144, 8, 1, 1, 5, 512, 20, false};
  const Family b12 = {"gemma4_unified", 48, 3840, 15360, 16, 8, 1, 6, 1024, 0, true};
  const Family b26 = {"gemma4", 30, 2816, 2112, 16, 8, 2, 6, 1024, 0, true};
  const Family b31 = {"gemma4", 60, 5376, 21504, 32, 16, 4, 6, 1024, 0, true};
  const auto expect_kv = [](const Family& f, uint64_t per_token, uint64_t window_mib) {
    const Gemma4Config older = must_read(family_config(f, true));
    EXPECT_EQ(older, must_read(family_config(f, false)));
    const KvLayout kv(state_of(older), DType::bf16);
    EXPECT_EQ(kv.bytes_per_token(), per_token);
    EXPECT_EQ(kv.window_bytes(), window_mib << 20);
  };
  expect_kv(b12, 16384, 320);
  expect_kv(b26, 20480, 200);
  expect_kv(b31, 81920, 800);
  expect_kv(e2b, 3 * 512 * 2 * 2, 6);
  const Gemma4Config shared = must_read(family_config(e2b, true));
  EXPECT_EQ(shared.layers[34].kv_layer, 14);
  EXPECT_EQ(shared.layers[15].kv_layer, 13);
}

TEST(ConfigReader, BearsRandomChanges) {
  const std::string files[] = {golden("vlm-ple/target/config.json"), golden("moe/target/config.json")};
  std::mt19937 random(11);
  const std::string_view pool = "{}[]\",:0123456789-e.+tfn";
  for (int round = 0; round < 4000; ++round) {
    std::string text = files[round % 2];
    for (auto changes = random() % 3 + 1; changes > 0; --changes) {
      const size_t at = random() % text.size();
      switch (random() % 3) {
        case 0: text[at] = pool[random() % pool.size()]; break;
        case 1: text.erase(at, random() % 6 + 1); break;
        default: text.insert(at, 1, pool[random() % pool.size()]); break;
      }
    }
    const auto read = read_config(text, "");
    if (!read.ok()) continue;
    for (const LayerConfig& layer : read->layers) {
      ASSERT_GT(layer.head_dim, 0);
      ASSERT_LT(layer.kv_layer, read->layer_count());
      ASSERT_EQ(read->heads % layer.kv_heads, 0);
    }
  }
}

}  // namespace
}  // namespace paceline
