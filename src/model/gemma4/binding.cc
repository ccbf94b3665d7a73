#include "model/gemma4/binding.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "model/tensor_names.h"

namespace paceline {
namespace {

// Of the text model's tensors: multimodal and text-only checkpoints of Hugging Face, then MLX's.
constexpr std::array<std::string_view, 4> kPrefixes = {"model.language_model.", "language_model.model.",
                                                       "language_model.", "model."};
constexpr std::array<std::string_view, 2> kHeads = {"lm_head", "language_model.lm_head"};
Result<std::string> find_prefix(const Checkpoint& checkpoint) {
  for (const std::string_view prefix : kPrefixes) {
    if (checkpoint.find(fmt::format("{}embed_tokens.weight", prefix)) != nullptr) return std::string(prefix);
  }
  return Error{fmt::format("{}: tensor \"embed_tokens.weight\" is missing; expected it after one of \"{}\"",
                           checkpoint.folder().string(), fmt::join(kPrefixes, "\", \""))};
}

Status bind_attention(TensorBinder& binder, const std::string& prefix, const LayerShape& shape, LayerWeights* out) {
  const Gemma4Config& config = shape.config;
  const LayerConfig& layer = config.layers[static_cast<size_t>(shape.layer)];
  const std::string attention = prefix + "self_attn.";
  const int64_t query = int64_t{config.heads} * layer.head_dim;
  const int64_t keys = int64_t{layer.kv_heads} * layer.head_dim;
  TRY(binder.matrix(attention + "q_proj", query, config.hidden, &out->q));
  TRY(binder.matrix(attention + "o_proj", config.hidden, query, &out->o));
  TRY(binder.vector(attention + "q_norm.weight", layer.head_dim, &out->q_norm));
  if (layer.kv_layer != shape.layer) return Done{};
  TRY(binder.matrix(attention + "k_proj", keys, config.hidden, &out->k));
  TRY(binder.vector(attention + "k_norm.weight", layer.head_dim, &out->k_norm));
  if (layer.value_is_key) return Done{};
  return binder.matrix(attention + "v_proj", keys, config.hidden, &out->v);
}

Status bind_ffn(TensorBinder& binder, const std::string& prefix, const LayerShape& shape, LayerWeights* out) {
  const int64_t hidden = shape.config.hidden;
  const int64_t ffn = shape.config.layers[static_cast<size_t>(shape.layer)].ffn;
  TRY(binder.matrix(prefix + "mlp.gate_proj", ffn, hidden, &out->gate));
  TRY(binder.matrix(prefix + "mlp.up_proj", ffn, hidden, &out->up));
  return binder.matrix(prefix + "mlp.down_proj", hidden, ffn, &out->down);
}

// They are multiplied with the same prepared rows.
Status check_gates_alike(const std::string& name, const LayerWeights& layer) {
  const Matrix &gate = layer.expert_gate.first, &up = layer.expert_up.first;
  if (multiply_alike(gate, up)) return Done{};
  return Error{
      fmt::format("{}: expected gate_proj and up_proj in one format, found {} in groups of {} and {} in groups of {}",
                  name, weight_format_name(gate.format), gate.group, weight_format_name(up.format), up.group)};
}

// Hugging Face keeps gate and up of an expert in one tensor, gate first; MLX has them apart.
Status bind_expert_gates(TensorBinder& binder, const std::string& experts, const Gemma4Config& config,
                         LayerWeights* out) {
  const int64_t ffn = config.expert_ffn;
  const std::string split = experts + "switch_glu.";
  if (binder.has(split + "gate_proj.weight")) {
    TRY(binder.stack(split + "gate_proj", config.experts, ffn, config.hidden, &out->expert_gate));
    TRY(binder.stack(split + "up_proj", config.experts, ffn, config.hidden, &out->expert_up));
    return check_gates_alike(split, *out);
  }
  if (binder.has_module(experts + "0.gate_proj")) {
    TRY(binder.stack_of(experts, ".gate_proj", {config.experts, ffn, config.hidden}, &out->expert_gate));
    TRY(binder.stack_of(experts, ".up_proj", {config.experts, ffn, config.hidden}, &out->expert_up));
    return check_gates_alike(experts, *out);
  }
  MatrixStack both;
  TRY(binder.plain_stack(experts + "gate_up_proj", config.experts, 2 * ffn, config.hidden, &both));
  out->expert_gate = out->expert_up = both;
  out->expert_gate.first = both.first.row_slice(0, config.expert_ffn);
  out->expert_up.first = both.first.row_slice(ffn, config.expert_ffn);
  return Done{};
}

Status bind_expert_down(TensorBinder& binder, const std::string& experts, const Gemma4Config& config,
                        LayerWeights* out) {
  const std::string split = experts + "switch_glu.down_proj";
  if (binder.has(split + ".weight")) {
    return binder.stack(split, config.experts, config.hidden, config.expert_ffn, &out->expert_down);
  }
  if (binder.has_module(experts + "0.down_proj"))
    return binder.stack_of(experts, ".down_proj", {config.experts, config.hidden, config.expert_ffn},
                           &out->expert_down);
  return binder.plain_stack(experts + "down_proj", config.experts, config.hidden, config.expert_ffn, &out->expert_down);
}

Status bind_moe(TensorBinder& binder, const std::string& prefix, const Gemma4Config& config, LayerWeights* out) {
  const int64_t hidden = config.hidden;
  TRY(binder.vector(prefix + "post_feedforward_layernorm_1.weight", hidden, &out->post_ffn_norm_1));
  TRY(binder.vector(prefix + "pre_feedforward_layernorm_2.weight", hidden, &out->pre_ffn_norm_2));
  TRY(binder.vector(prefix + "post_feedforward_layernorm_2.weight", hidden, &out->post_ffn_norm_2));
  TRY(binder.vector(prefix + "router.scale", hidden, &out->router_scale));
  TRY(binder.vector(prefix + "router.per_expert_scale", config.experts, &out->per_expert_scale));
  TRY(binder.matrix(prefix + "router.proj", config.experts, hidden, &out->router));
  TRY(bind_expert_gates(binder, prefix + "experts.", config, out));
  return bind_expert_down(binder, prefix + "experts.", config, out);
}

Status bind_layer_ple(TensorBinder& binder, const std::string& prefix, const Gemma4Config& config, LayerWeights* out) {
  TRY(binder.matrix(prefix + "per_layer_input_gate", config.ple_width, config.hidden, &out->ple_gate));
  TRY(binder.matrix(prefix + "per_layer_projection", config.hidden, config.ple_width, &out->ple_projection));
  return binder.vector(prefix + "post_per_layer_input_norm.weight", config.hidden, &out->post_ple_norm);
}

Status bind_model_ple(TensorBinder& binder, const std::string& prefix, Gemma4Weights* out) {
  const Gemma4Config& config = out->config;
  const int64_t all_layers = int64_t{config.layer_count()} * config.ple_width;
  TRY(binder.matrix(prefix + "embed_tokens_per_layer", config.ple_vocab, all_layers, &out->ple_embedding));
  TRY(binder.matrix(prefix + "per_layer_model_projection", all_layers, config.hidden, &out->ple_model_projection));
  return binder.vector(prefix + "per_layer_projection_norm.weight", config.ple_width, &out->ple_projection_norm);
}

Status bind_head(TensorBinder& binder, Gemma4Weights* out) {
  out->head = out->embedding;
  if (out->config.tied_head) return Done{};
  for (const std::string_view head : kHeads) {
    const std::string name(head);
    if (!binder.has_module(name)) continue;
    return binder.matrix(name, out->config.vocab, out->config.hidden, &out->head);
  }
  return Error{fmt::format("tensor \"{}.weight\" is missing; expected it with shape [{}, {}]", kHeads[0],
                           out->config.vocab, out->config.hidden)};
}

bool starts_with_any(std::string_view name, std::span<const std::string_view> starts) {
  for (const std::string_view start : starts) {
    if (name.starts_with(start)) return true;
  }
  return false;
}

// Keys and values that a layer of the shared tail carries but never reads.
bool is_dead_kv(std::string_view name, const std::string& prefix, const Gemma4Config& config) {
  for (size_t i = 0; i < config.layers.size(); ++i) {
    if (config.layers[i].kv_layer == static_cast<int32_t>(i)) continue;
    for (const char* part : {"k_proj", "v_proj", "k_norm", "v_norm"}) {
      if (name.starts_with(fmt::format("{}layers.{}.self_attn.{}.", prefix, i, part))) return true;
    }
  }
  return false;
}

bool may_be_left(std::string_view name, const std::string& prefix, const Gemma4Config& config) {
  if (belongs_to_media(name) || name.ends_with("inv_freq")) return true;
  if (config.tied_head && starts_with_any(name, kHeads)) return true;
  return is_dead_kv(name, prefix, config);
}

}  // namespace

Status bind_layer(TensorBinder& binder, const std::string& prefix, const LayerShape& shape, LayerWeights* out) {
  const Gemma4Config& config = shape.config;
  TRY(binder.vector(prefix + "input_layernorm.weight", config.hidden, &out->input_norm));
  TRY(binder.vector(prefix + "post_attention_layernorm.weight", config.hidden, &out->post_attention_norm));
  TRY(binder.vector(prefix + "pre_feedforward_layernorm.weight", config.hidden, &out->pre_ffn_norm));
  TRY(binder.vector(prefix + "post_feedforward_layernorm.weight", config.hidden, &out->post_ffn_norm));
  TRY(binder.scalar(prefix + "layer_scalar", &out->layer_scalar));
  TRY(bind_attention(binder, prefix, shape, out));
  TRY(bind_ffn(binder, prefix, shape, out));
  if (config.experts > 0) TRY(bind_moe(binder, prefix, config, out));
  if (config.ple_width > 0) TRY(bind_layer_ple(binder, prefix, config, out));
  return Done{};
}

Result<std::shared_ptr<const Gemma4Weights>> bind_gemma4_weights(std::shared_ptr<const Checkpoint> checkpoint,
                                                                 Gemma4Config config, ThreadPool& pool,
                                                                 const Progress& progress) {
  TRY_ASSIGN(const std::string prefix, find_prefix(*checkpoint));
  TensorBinder binder(checkpoint, pool);
  auto weights = std::make_shared<Gemma4Weights>();
  weights->config = std::move(config);
  const Gemma4Config& bound = weights->config;
  TRY(binder.matrix(prefix + "embed_tokens", bound.vocab, bound.hidden, &weights->embedding));
  TRY(binder.vector(prefix + "norm.weight", bound.hidden, &weights->final_norm));
  TRY(bind_head(binder, weights.get()));
  if (bound.ple_width > 0) TRY(bind_model_ple(binder, prefix, weights.get()));
  weights->layers.resize(bound.layers.size());
  for (int32_t i = 0; i < bound.layer_count(); ++i) {
    TRY(bind_layer(binder, fmt::format("{}layers.{}.", prefix, i), {bound, i},
                   &weights->layers[static_cast<size_t>(i)]));
    if (progress) progress(i + 1, bound.layer_count());
  }
  for (const TensorView* tensor : binder.untaken()) {
    if (may_be_left(tensor->name, prefix, bound)) continue;
    return Error{fmt::format("tensor \"{}\" belongs to nothing in a {} model", tensor->name, bound.model_type)};
  }
  weights->owners = binder.take_owners();
  weights->checkpoint = binder.checkpoint();
  return std::shared_ptr<const Gemma4Weights>(std::move(weights));
}

}  // namespace paceline
