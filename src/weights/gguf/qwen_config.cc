// The metadata of qwen3, qwen3moe, qwen35 and qwen35moe as config.json.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>

#include "weights/gguf/gguf_words.h"

namespace paceline {
namespace {

namespace json = boost::json;

constexpr int64_t kMostQwenWidth = 1 << 16, kMostQwenFfn = 1 << 20, kMostQwenHeads = 1024, kMostQwenLayers = 1024;
constexpr int64_t kMostQwenContext = 1 << 27, kMostQwenExperts = 4096, kMostQwenKernel = 64;

// Keys after "qwen35." or what the architecture calls itself.
struct QwenKeys {
  const GgufMetadata& metadata;
  std::string prefix;

  [[nodiscard]] std::string key(std::string_view name) const { return fmt::format("{}.{}", prefix, name); }
  [[nodiscard]] bool has(std::string_view name) const { return metadata.has(key(name)); }
  [[nodiscard]] bool recurrent() const { return prefix.starts_with("qwen35"); }
  [[nodiscard]] bool experts() const { return prefix.ends_with("moe"); }
  [[nodiscard]] Result<int64_t> integer(std::string_view name, int64_t least, int64_t most) const {
    return metadata.integer(key(name), least, most);
  }
};

// One number for all layers, or one for each, where layers without attention have none.
Result<int64_t> qwen_kv_heads(const QwenKeys& keys, int64_t blocks, int64_t heads) {
  constexpr std::string_view kName = "attention.head_count_kv";
  TRY_ASSIGN(const auto counts, keys.metadata.integers(keys.key(kName), static_cast<size_t>(blocks), 0, heads));
  const int64_t most = *std::max_element(counts.begin(), counts.end());
  const auto fits = [&](int64_t count) { return count == most || (count == 0 && keys.recurrent()); };
  if (most == 0 || !std::all_of(counts.begin(), counts.end(), fits))
    return keys.metadata.wrong(keys.key(kName), "one number for all layers that have attention");
  return most;
}

Status add_qwen_heads(const QwenKeys& keys, int64_t blocks, json::object* config) {
  TRY_ASSIGN(const int64_t heads, keys.integer("attention.head_count", 1, kMostQwenHeads));
  (*config)["num_attention_heads"] = heads;
  TRY_ASSIGN((*config)["num_key_value_heads"], qwen_kv_heads(keys, blocks, heads));
  TRY_ASSIGN(const int64_t head_dim, keys.integer("attention.key_length", 2, kMostQwenWidth));
  (*config)["head_dim"] = head_dim;
  TRY(keys.metadata.integer_or(keys.key("attention.value_length"), head_dim, head_dim, head_dim));
  const int64_t usual = keys.recurrent() ? head_dim / 4 : head_dim;
  TRY_ASSIGN(const int64_t turning, keys.metadata.integer_or(keys.key("rope.dimension_count"), usual, 2, head_dim));
  // Whoever multiplies this with the width and drops the fraction has the number again.
  const double share = static_cast<double>(turning) / static_cast<double>(head_dim);
  (*config)["partial_rotary_factor"] = std::min(std::nextafter(share, 2.0), 1.0);
  return Done{};
}

Status add_qwen_rope(const QwenKeys& keys, json::object* config) {
  TRY_ASSIGN((*config)["rope_theta"], keys.metadata.number_or(keys.key("rope.freq_base"), 1e4, 1, 1e12));
  const std::string type_key = keys.key("rope.scaling.type");
  TRY_ASSIGN(const std::string scaling, keys.metadata.text_or(type_key, "none"));
  if (scaling == "none") return Done{};
  if (scaling != "yarn") return keys.metadata.wrong(type_key, "none or yarn (positions scaled otherwise are not read)");
  json::object rope{{"rope_type", "yarn"}};
  TRY_ASSIGN(rope["factor"], keys.metadata.number_or(keys.key("rope.scaling.factor"), 1, 1, 1e6));
  constexpr std::string_view kBefore = "rope.scaling.original_context_length";
  if (keys.has(kBefore)) {
    TRY_ASSIGN(rope["original_max_position_embeddings"], keys.integer(kBefore, 1, kMostQwenContext));
  }
  (*config)["rope_scaling"] = std::move(rope);
  return Done{};
}

Status add_qwen_experts(const QwenKeys& keys, json::object* config) {
  TRY_ASSIGN(const int64_t experts, keys.integer("expert_count", 1, kMostQwenExperts));
  (*config)["num_experts"] = experts;
  (*config)["norm_topk_prob"] = true;
  TRY_ASSIGN((*config)["num_experts_per_tok"], keys.integer("expert_used_count", 1, experts));
  TRY_ASSIGN((*config)["moe_intermediate_size"], keys.integer("expert_feed_forward_length", 1, kMostQwenFfn));
  if (!keys.recurrent()) return Done{};
  TRY_ASSIGN((*config)["shared_expert_intermediate_size"],
             keys.integer("expert_shared_feed_forward_length", 1, kMostQwenFfn));
  return Done{};
}

// Which layers are recurrent: a list, or all but every so many.
Status add_qwen_mixers(const QwenKeys& keys, int64_t layers, int64_t blocks, json::object* config) {
  const std::string list = keys.key("attention.recurrent_layers");
  std::vector<bool> recurrent;
  if (keys.metadata.has(list)) {
    TRY_ASSIGN(recurrent, keys.metadata.booleans(list, static_cast<size_t>(blocks)));
  } else {
    const std::string every = keys.key("full_attention_interval");
    TRY_ASSIGN(const int64_t interval, keys.metadata.integer_or(every, 4, 1, kMostQwenLayers));
    for (int64_t i = 0; i < layers; ++i) recurrent.push_back((i + 1) % interval != 0);
  }
  json::array types;
  for (int64_t i = 0; i < layers; ++i)
    types.push_back(recurrent[static_cast<size_t>(i)] ? "linear_attention" : "full_attention");
  (*config)["layer_types"] = std::move(types);
  return Done{};
}

// Value heads are dealt to the key heads one by one, unless the file says that they are not; the one is added to norms.
Status add_qwen_delta(const QwenKeys& keys, json::object* config) {
  TRY_ASSIGN((*config)["linear_conv_kernel_dim"], keys.integer("ssm.conv_kernel", 2, kMostQwenKernel));
  TRY_ASSIGN((*config)["linear_key_head_dim"], keys.integer("ssm.state_size", 1, kMostQwenWidth));
  TRY_ASSIGN((*config)["linear_num_key_heads"], keys.integer("ssm.group_count", 1, kMostQwenHeads));
  TRY_ASSIGN(const int64_t values, keys.integer("ssm.time_step_rank", 1, kMostQwenHeads));
  (*config)["linear_num_value_heads"] = values;
  TRY_ASSIGN(const int64_t width, keys.integer("ssm.inner_size", values, kMostQwenHeads * kMostQwenWidth));
  if (width % values != 0)
    return keys.metadata.wrong(keys.key("ssm.inner_size"), fmt::format("a multiple of {}, its heads", values));
  (*config)["linear_value_head_dim"] = width / values;
  TRY_ASSIGN((*config)["linear_value_heads_dealt"], keys.metadata.boolean_or(keys.key("ssm.v_head_reordered"), true));
  (*config)["norm_weights_whole"] = true;
  return Done{};
}

const char* qwen_model_type(const QwenKeys& keys) {
  if (keys.recurrent()) return keys.experts() ? "qwen3_5_moe_text" : "qwen3_5_text";
  return keys.experts() ? "qwen3_moe" : "qwen3";
}

Result<json::object> qwen_config(const GgufFiles& files) {
  const QwenKeys keys{files.metadata(), files.architecture()};
  json::object config{{"model_type", qwen_model_type(keys)}};
  TRY_ASSIGN(const QwenGgufLayers layers, qwen_gguf_layers(files));
  config["num_hidden_layers"] = layers.text;
  config["mtp_num_hidden_layers"] = layers.drafter;
  TRY_ASSIGN(config["hidden_size"], keys.integer("embedding_length", 2, kMostQwenWidth));
  TRY_ASSIGN(config["max_position_embeddings"], keys.integer("context_length", 1, kMostQwenContext));
  TRY_ASSIGN(config["rms_norm_eps"],
             files.metadata().number_or(keys.key("attention.layer_norm_rms_epsilon"), 1e-6, 1e-12, 1));
  TRY_ASSIGN(config["vocab_size"], gguf_vocabulary_rows(files));
  config["tie_word_embeddings"] = !files.has("output.weight");
  TRY(add_qwen_heads(keys, layers.text + layers.drafter, &config));
  TRY(add_qwen_rope(keys, &config));
  // Where every layer has experts there may be none.
  if (!keys.experts() || keys.has("feed_forward_length")) {
    TRY_ASSIGN(config["intermediate_size"], keys.integer("feed_forward_length", keys.experts() ? 0 : 1, kMostQwenFfn));
  }
  if (keys.experts()) TRY(add_qwen_experts(keys, &config));
  if (!keys.recurrent()) return config;
  TRY(add_qwen_mixers(keys, layers.text, layers.text + layers.drafter, &config));
  TRY(add_qwen_delta(keys, &config));
  return config;
}

}  // namespace

Result<QwenGgufLayers> qwen_gguf_layers(const GgufFiles& files) {
  const QwenKeys keys{files.metadata(), files.architecture()};
  TRY_ASSIGN(const int64_t blocks, keys.integer("block_count", 1, kMostQwenLayers));
  QwenGgufLayers layers{blocks, 0};
  if (!keys.recurrent()) return layers;
  TRY_ASSIGN(layers.drafter, keys.metadata.integer_or(keys.key("nextn_predict_layers"), 0, 0, blocks - 1));
  layers.text -= layers.drafter;
  return layers;
}

Result<GgufConfigs> qwen_gguf_configs(const GgufFiles& files, const GgufVocabulary& vocabulary) {
  GgufConfigs made;
  TRY_ASSIGN(made.config, qwen_config(files));
  if (const int64_t id = vocabulary.named_id("bos_token_id"); id >= 0) made.config["bos_token_id"] = id;
  if (const int64_t id = vocabulary.named_id("padding_token_id"); id >= 0) made.config["pad_token_id"] = id;
  TRY_ASSIGN(made.generation, gguf_sampling(files.metadata()));
  if (const int64_t id = vocabulary.named_id("eos_token_id"); id >= 0) made.generation["eos_token_id"] = id;
  return made;
}

}  // namespace paceline
