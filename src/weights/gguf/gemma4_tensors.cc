// gemma4's and gemma4-assistant's tensors under Hugging Face's names.
#include <fmt/format.h>

#include <array>

#include "weights/gguf/gguf_words.h"
#include "weights/gguf/name_pairs.h"

namespace paceline {
namespace {

constexpr std::array<NamePair, 6> kModelNames = {
    NamePair{"token_embd.weight", "model.embed_tokens.weight"},
    {"output.weight", "lm_head.weight"},
    {"output_norm.weight", "model.norm.weight"},
    {"per_layer_token_embd.weight", "model.embed_tokens_per_layer.weight"},
    {"per_layer_model_proj.weight", "model.per_layer_model_projection.weight"},
    {"per_layer_proj_norm.weight", "model.per_layer_projection_norm.weight"}};

constexpr std::array<NamePair, 27> kLayerNames = {NamePair{"attn_norm.weight", "input_layernorm.weight"},
                                                  {"attn_q.weight", "self_attn.q_proj.weight"},
                                                  {"attn_k.weight", "self_attn.k_proj.weight"},
                                                  {"attn_v.weight", "self_attn.v_proj.weight"},
                                                  {"attn_output.weight", "self_attn.o_proj.weight"},
                                                  {"attn_q_norm.weight", "self_attn.q_norm.weight"},
                                                  {"attn_k_norm.weight", "self_attn.k_norm.weight"},
                                                  {"post_attention_norm.weight", "post_attention_layernorm.weight"},
                                                  {"ffn_norm.weight", "pre_feedforward_layernorm.weight"},
                                                  {"post_ffw_norm.weight", "post_feedforward_layernorm.weight"},
                                                  {"ffn_gate.weight", "mlp.gate_proj.weight"},
                                                  {"ffn_up.weight", "mlp.up_proj.weight"},
                                                  {"ffn_down.weight", "mlp.down_proj.weight"},
                                                  {"layer_output_scale.weight", "layer_scalar"},
                                                  {"ffn_gate_inp.weight", "router.proj.weight"},
                                                  {"ffn_gate_inp.scale", "router.scale"},
                                                  {"ffn_down_exps.scale", "router.per_expert_scale"},
                                                  {"ffn_gate_up_exps.weight", "experts.gate_up_proj"},
                                                  {"ffn_gate_exps.weight", "experts.switch_glu.gate_proj.weight"},
                                                  {"ffn_up_exps.weight", "experts.switch_glu.up_proj.weight"},
                                                  {"ffn_down_exps.weight", "experts.down_proj"},
                                                  {"pre_ffw_norm_2.weight", "pre_feedforward_layernorm_2.weight"},
                                                  {"post_ffw_norm_1.weight", "post_feedforward_layernorm_1.weight"},
                                                  {"post_ffw_norm_2.weight", "post_feedforward_layernorm_2.weight"},
                                                  {"inp_gate.weight", "per_layer_input_gate.weight"},
                                                  {"proj.weight", "per_layer_projection.weight"},
                                                  {"post_norm.weight", "post_per_layer_input_norm.weight"}};

constexpr std::array<NamePair, 2> kAssistantNames = {NamePair{"nextn.pre_projection.weight", "pre_projection.weight"},
                                                     {"nextn.post_projection.weight", "post_projection.weight"}};

// A name that nobody knows stays what it is, and whoever binds tensors will say so.
std::string hub_name_of(std::string_view gguf) {
  for (const std::string_view found : {hub_name_in(kModelNames, gguf), hub_name_in(kAssistantNames, gguf)})
    if (!found.empty()) return std::string(found);
  const GgufLayerName in_layer = gguf_layer_name(gguf, "blk.");
  const std::string_view found = in_layer.layer < 0 ? "" : hub_name_in(kLayerNames, in_layer.part);
  if (found.empty()) return std::string(gguf);
  return fmt::format("model.layers.{}.{}", in_layer.layer, found);
}

// Other modalities, and what the config already says.
bool is_passed_by(std::string_view name) {
  for (const char* start : {"v.", "a.", "mm.", "rope_freqs.", "masked_embd_"})
    if (name.starts_with(start)) return true;
  return name.ends_with(".input_scale");
}

Status add_known(const GgufFiles& files, GgufTensors* out) {
  for (const GgufHeader& header : files.headers) {
    for (const GgufTensor& tensor : header.tensors) {
      if (is_passed_by(tensor.name) || is_matrix_scale(files, tensor.name)) continue;
      TRY(out->add_scaled(hub_name_of(tensor.name), files, tensor));
    }
  }
  return Done{};
}

// Where it is left out it is 1.
Status add_layer_scalars(const GgufFiles& files, const std::string& key, GgufTensors* out) {
  TRY_ASSIGN(const int64_t layers, files.metadata().integer(key, 1, std::numeric_limits<int32_t>::max()));
  for (int64_t i = 0; i < layers; ++i) {
    // Layers that the file does not have are missed by name later.
    if (!files.has(fmt::format("blk.{}.attn_norm.weight", i))) break;
    if (!files.has(fmt::format("blk.{}.layer_output_scale.weight", i)))
      out->add_floats(fmt::format("model.layers.{}.layer_scalar", i), {1}, {1.0f});
  }
  return Done{};
}

}  // namespace

std::string gemma4_gguf_name(std::string_view hub) {
  for (const std::string_view found : {gguf_name_in(kModelNames, hub), gguf_name_in(kAssistantNames, hub)})
    if (!found.empty()) return std::string(found);
  const GgufLayerName in_layer = gguf_layer_name(hub, "model.layers.");
  const std::string_view found = in_layer.layer < 0 ? "" : gguf_name_in(kLayerNames, in_layer.part);
  return found.empty() ? std::string() : fmt::format("blk.{}.{}", in_layer.layer, found);
}

Status add_gemma4_tensors(const GgufFiles& files, GgufTensors* out) {
  TRY(add_known(files, out));
  return add_layer_scalars(files, "gemma4.block_count", out);
}

Status add_gemma4_assistant_tensors(const GgufFiles& files, GgufTensors* out) {
  TRY(add_known(files, out));
  const bool hyphen = files.metadata().has("gemma4-assistant.block_count");
  return add_layer_scalars(files, hyphen ? "gemma4-assistant.block_count" : "gemma4_assistant.block_count", out);
}

}  // namespace paceline
