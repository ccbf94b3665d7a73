// The tensors of qwen3, qwen3moe, qwen35 and qwen35moe under Hugging Face's names, and the other way round.
#include <fmt/format.h>

#include <array>

#include "weights/gguf/gguf_words.h"
#include "weights/gguf/name_pairs.h"

namespace paceline {
namespace {

constexpr std::array<NamePair, 3> kQwenModelNames = {NamePair{"token_embd.weight", "model.embed_tokens.weight"},
                                                     {"output_norm.weight", "model.norm.weight"},
                                                     {"output.weight", "lm_head.weight"}};

constexpr std::array<NamePair, 31> kQwenLayerNames = {
    NamePair{"attn_norm.weight", "input_layernorm.weight"},
    {"attn_q.weight", "self_attn.q_proj.weight"},
    {"attn_k.weight", "self_attn.k_proj.weight"},
    {"attn_v.weight", "self_attn.v_proj.weight"},
    {"attn_output.weight", "self_attn.o_proj.weight"},
    {"attn_q_norm.weight", "self_attn.q_norm.weight"},
    {"attn_k_norm.weight", "self_attn.k_norm.weight"},
    {"attn_qkv.weight", "linear_attn.in_proj_qkv.weight"},
    {"attn_gate.weight", "linear_attn.in_proj_z.weight"},
    {"ssm_alpha.weight", "linear_attn.in_proj_a.weight"},
    {"ssm_beta.weight", "linear_attn.in_proj_b.weight"},
    {"ssm_conv1d.weight", "linear_attn.conv1d.weight"},
    {"ssm_dt.bias", "linear_attn.dt_bias"},
    {"ssm_dt", "linear_attn.dt_bias"},  // of other writers
    {"ssm_a", "linear_attn.A"},
    {"ssm_norm.weight", "linear_attn.norm.weight"},
    {"ssm_out.weight", "linear_attn.out_proj.weight"},
    {"ffn_gate.weight", "mlp.gate_proj.weight"},
    {"ffn_up.weight", "mlp.up_proj.weight"},
    {"ffn_down.weight", "mlp.down_proj.weight"},
    {"ffn_gate_inp.weight", "mlp.gate.weight"},
    {"ffn_gate_exps.weight", "mlp.switch_mlp.gate_proj.weight"},
    {"ffn_up_exps.weight", "mlp.switch_mlp.up_proj.weight"},
    {"ffn_down_exps.weight", "mlp.switch_mlp.down_proj.weight"},
    {"ffn_gate_up_exps.weight", "mlp.experts.gate_up_proj"},
    {"ffn_gate_inp_shexp.weight", "mlp.shared_expert_gate.weight"},
    {"ffn_gate_shexp.weight", "mlp.shared_expert.gate_proj.weight"},
    {"ffn_up_shexp.weight", "mlp.shared_expert.up_proj.weight"},
    {"ffn_down_shexp.weight", "mlp.shared_expert.down_proj.weight"},
    {"ffn_norm.weight", "post_attention_layernorm.weight"},             // of qwen3
    {"post_attention_norm.weight", "post_attention_layernorm.weight"},  // of qwen35
};

// Of the layer behind the last, which is the model's own drafter.
constexpr std::array<NamePair, 4> kQwenDrafterNames = {NamePair{"nextn.eh_proj.weight", "mtp.fc.weight"},
                                                       {"nextn.enorm.weight", "mtp.pre_fc_norm_embedding.weight"},
                                                       {"nextn.hnorm.weight", "mtp.pre_fc_norm_hidden.weight"},
                                                       {"nextn.shared_head_norm.weight", "mtp.norm.weight"}};

// A name that nobody knows stays what it is, and whoever binds tensors will say so.
std::string qwen_hub_name(std::string_view gguf, const QwenGgufLayers& layers) {
  if (const std::string_view found = hub_name_in(kQwenModelNames, gguf); !found.empty()) return std::string(found);
  const GgufLayerName in_layer = gguf_layer_name(gguf, "blk.");
  if (in_layer.layer < 0) return std::string(gguf);
  const bool of_drafter = in_layer.layer >= layers.text;
  if (const std::string_view found = hub_name_in(kQwenDrafterNames, in_layer.part); of_drafter && !found.empty())
    return std::string(found);
  const std::string_view found = hub_name_in(kQwenLayerNames, in_layer.part);
  if (found.empty()) return std::string(gguf);
  return of_drafter ? fmt::format("mtp.layers.{}.{}", in_layer.layer - layers.text, found)
                    : fmt::format("model.layers.{}.{}", in_layer.layer, found);
}

// Where Hugging Face has a dimension of one more.
std::vector<int64_t> qwen_hub_shape(const GgufTensor& tensor) {
  const std::vector<int64_t>& shape = tensor.shape;
  if (tensor.name.ends_with(".ssm_conv1d.weight") && shape.size() == 2) return {shape[0], 1, shape[1]};
  if (tensor.name.ends_with(".ffn_gate_inp_shexp.weight") && shape.size() == 1) return {1, shape[0]};
  return {};
}

// Pictures, and what quantised activations are scaled with.
bool is_qwen_passed_by(std::string_view name) {
  return name.starts_with("v.") || name.starts_with("mm.") || name.ends_with(".input_scale");
}

}  // namespace

std::string qwen_gguf_name(std::string_view hub, const QwenGgufLayers& layers, bool recurrent) {
  if (const std::string_view found = gguf_name_in(kQwenModelNames, hub); !found.empty()) return std::string(found);
  if (const std::string_view found = gguf_name_in(kQwenDrafterNames, hub); !found.empty())
    return fmt::format("blk.{}.{}", layers.text, found);
  GgufLayerName in_layer = gguf_layer_name(hub, "model.layers.");
  if (in_layer.layer < 0) {
    in_layer = gguf_layer_name(hub, "mtp.layers.");
    if (in_layer.layer >= 0) in_layer.layer += layers.text;
  }
  std::string_view found = in_layer.layer < 0 ? "" : gguf_name_in(kQwenLayerNames, in_layer.part);
  if (found == "ffn_norm.weight" && recurrent) found = "post_attention_norm.weight";
  return found.empty() ? std::string() : fmt::format("blk.{}.{}", in_layer.layer, found);
}

Status add_qwen_tensors(const GgufFiles& files, GgufTensors* out) {
  TRY_ASSIGN(const QwenGgufLayers layers, qwen_gguf_layers(files));
  for (const GgufHeader& header : files.headers) {
    for (const GgufTensor& tensor : header.tensors) {
      if (is_matrix_scale(files, tensor.name) || is_qwen_passed_by(tensor.name)) continue;
      TRY(out->add_scaled(qwen_hub_name(tensor.name, layers), files, tensor, qwen_hub_shape(tensor)));
    }
  }
  return Done{};
}

}  // namespace paceline
