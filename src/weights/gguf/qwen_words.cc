// qwen3's and qwen3moe's metadata and tensors as a Hugging Face folder has them.
#include <fmt/format.h>

#include <array>
#include <boost/json.hpp>

#include "weights/gguf/gguf_words.h"

namespace paceline {
namespace {

namespace json = boost::json;

constexpr int64_t kMostQwenWidth = 1 << 16, kMostQwenFfn = 1 << 20, kMostQwenHeads = 1024, kMostQwenLayers = 1024;
constexpr int64_t kMostQwenContext = 1 << 27, kMostQwenExperts = 4096;

struct QwenName {
  std::string_view gguf, hub;
};

constexpr std::array<QwenName, 15> kQwenLayerNames = {QwenName{"attn_norm.weight", "input_layernorm.weight"},
                                                      {"attn_q.weight", "self_attn.q_proj.weight"},
                                                      {"attn_k.weight", "self_attn.k_proj.weight"},
                                                      {"attn_v.weight", "self_attn.v_proj.weight"},
                                                      {"attn_output.weight", "self_attn.o_proj.weight"},
                                                      {"attn_q_norm.weight", "self_attn.q_norm.weight"},
                                                      {"attn_k_norm.weight", "self_attn.k_norm.weight"},
                                                      {"ffn_norm.weight", "post_attention_layernorm.weight"},
                                                      {"ffn_gate.weight", "mlp.gate_proj.weight"},
                                                      {"ffn_up.weight", "mlp.up_proj.weight"},
                                                      {"ffn_down.weight", "mlp.down_proj.weight"},
                                                      {"ffn_gate_inp.weight", "mlp.gate.weight"},
                                                      {"ffn_gate_exps.weight", "mlp.switch_mlp.gate_proj.weight"},
                                                      {"ffn_up_exps.weight", "mlp.switch_mlp.up_proj.weight"},
                                                      {"ffn_down_exps.weight", "mlp.switch_mlp.down_proj.weight"}};

std::string qwen_hub_name(std::string_view gguf) {
  if (gguf == "token_embd.weight") return "model.embed_tokens.weight";
  if (gguf == "output_norm.weight") return "model.norm.weight";
  if (gguf == "output.weight") return "lm_head.weight";
  const GgufLayerName in_layer = gguf_layer_name(gguf, "blk.");
  if (in_layer.layer >= 0)
    for (const QwenName& name : kQwenLayerNames)
      if (name.gguf == in_layer.part) return fmt::format("model.layers.{}.{}", in_layer.layer, name.hub);
  return std::string(gguf);
}

Status add_qwen_experts(const GgufMetadata& metadata, const std::string& prefix, json::object* config) {
  TRY_ASSIGN(const int64_t experts, metadata.integer(prefix + "expert_count", 1, kMostQwenExperts));
  (*config)["num_experts"] = experts;
  (*config)["norm_topk_prob"] = true;
  TRY_ASSIGN((*config)["num_experts_per_tok"], metadata.integer(prefix + "expert_used_count", 1, experts));
  TRY_ASSIGN((*config)["moe_intermediate_size"],
             metadata.integer(prefix + "expert_feed_forward_length", 1, kMostQwenFfn));
  return Done{};
}

Result<json::object> qwen_config(const GgufFiles& files) {
  const GgufMetadata& metadata = files.metadata();
  const bool experts = files.architecture() == "qwen3moe";
  const std::string prefix = files.architecture() + ".";
  json::object config{{"model_type", experts ? "qwen3_moe" : "qwen3"}};
  TRY_ASSIGN(config["num_hidden_layers"], metadata.integer(prefix + "block_count", 1, kMostQwenLayers));
  TRY_ASSIGN(config["hidden_size"], metadata.integer(prefix + "embedding_length", 2, kMostQwenWidth));
  TRY_ASSIGN(config["max_position_embeddings"], metadata.integer(prefix + "context_length", 1, kMostQwenContext));
  TRY_ASSIGN(const int64_t heads, metadata.integer(prefix + "attention.head_count", 1, kMostQwenHeads));
  config["num_attention_heads"] = heads;
  TRY_ASSIGN(config["num_key_value_heads"], metadata.integer(prefix + "attention.head_count_kv", 1, heads));
  TRY_ASSIGN(const int64_t head_dim, metadata.integer(prefix + "attention.key_length", 2, kMostQwenWidth));
  config["head_dim"] = head_dim;
  TRY(metadata.integer_or(prefix + "attention.value_length", head_dim, head_dim, head_dim));
  TRY_ASSIGN(config["rms_norm_eps"], metadata.number_or(prefix + "attention.layer_norm_rms_epsilon", 1e-6, 1e-12, 1));
  TRY_ASSIGN(config["rope_theta"], metadata.number_or(prefix + "rope.freq_base", 1e4, 1, 1e12));
  TRY_ASSIGN(const std::string scaling, metadata.text_or(prefix + "rope.scaling.type", "none"));
  if (scaling != "none") return metadata.wrong(prefix + "rope.scaling.type", "none (scaled positions are not read)");
  TRY_ASSIGN(config["intermediate_size"], metadata.integer(prefix + "feed_forward_length", 1, kMostQwenFfn));
  TRY_ASSIGN(config["vocab_size"], gguf_vocabulary_rows(files));
  config["tie_word_embeddings"] = !files.has("output.weight");
  if (experts) TRY(add_qwen_experts(metadata, prefix, &config));
  return config;
}

}  // namespace

Result<GgufConfigs> qwen_gguf_configs(const GgufFiles& files, const GgufVocabulary& vocabulary) {
  GgufConfigs made;
  TRY_ASSIGN(made.config, qwen_config(files));
  if (const int64_t id = vocabulary.named_id("bos_token_id"); id >= 0) made.config["bos_token_id"] = id;
  if (const int64_t id = vocabulary.named_id("padding_token_id"); id >= 0) made.config["pad_token_id"] = id;
  TRY_ASSIGN(made.generation, gguf_sampling(files.metadata()));
  if (const int64_t id = vocabulary.named_id("eos_token_id"); id >= 0) made.generation["eos_token_id"] = id;
  return made;
}

Status add_qwen_tensors(const GgufFiles& files, GgufTensors* out) {
  for (const GgufHeader& header : files.headers) {
    for (const GgufTensor& tensor : header.tensors) {
      if (is_matrix_scale(files, tensor.name) || tensor.name.ends_with(".input_scale")) continue;
      TRY(out->add_scaled(qwen_hub_name(tensor.name), files, tensor));
    }
  }
  return Done{};
}

}  // namespace paceline
