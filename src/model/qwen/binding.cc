#include "model/qwen/binding.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>

#include "model/tensor_names.h"

namespace paceline::qwen {
namespace {

// Of the text model's tensors: multimodal and text-only checkpoints of Hugging Face, then MLX's.
constexpr std::array<std::string_view, 3> kPrefixes = {"model.language_model.", "language_model.model.", "model."};
constexpr std::array<std::string_view, 2> kHeads = {"lm_head", "language_model.lm_head"};
// Its own drafter's.
constexpr std::string_view kMtp = "mtp.";

Result<std::string> find_prefix(const Checkpoint& checkpoint) {
  for (const std::string_view prefix : kPrefixes)
    if (checkpoint.find(fmt::format("{}embed_tokens.weight", prefix)) != nullptr) return std::string(prefix);
  return Error{fmt::format("tensor \"embed_tokens.weight\" is missing; expected it after one of \"{}\"",
                           fmt::join(kPrefixes, "\", \""))};
}

Status bind_attention(TensorBinder& binder, const std::string& prefix, const QwenConfig& config,
                      AttentionWeights* out) {
  const int64_t query = int64_t{config.heads} * config.head_dim, keys = int64_t{config.kv_heads} * config.head_dim;
  TRY(binder.matrix(prefix + "q_proj", config.gates_attention ? 2 * query : query, config.hidden, &out->q));
  TRY(binder.matrix(prefix + "k_proj", keys, config.hidden, &out->k));
  TRY(binder.matrix(prefix + "v_proj", keys, config.hidden, &out->v));
  TRY(binder.matrix(prefix + "o_proj", config.hidden, query, &out->o));
  TRY(bind_norm(binder, prefix + "q_norm.weight", config.head_dim, config, &out->q_norm));
  TRY(bind_norm(binder, prefix + "k_norm.weight", config.head_dim, config, &out->k_norm));
  // Scores are scaled by way of the queries.
  const float scale = 1.0f / std::sqrt(static_cast<float>(config.head_dim));
  for (float& weight : out->q_norm) weight *= scale;
  // YaRN's factor is that of all that turns, of queries and keys alike.
  const auto stretch = static_cast<float>(config.yarn ? config.yarn->attention_factor : 1.0);
  for (int32_t i = 0; i < config.rotary; ++i) out->q_norm[static_cast<size_t>(i)] *= stretch * stretch;
  return Done{};
}

Status bind_delta(TensorBinder& binder, const std::string& prefix, const QwenConfig& config, DeltaWeights* out) {
  const kernels::DeltaShape& shape = config.delta;
  const int64_t channels = shape.channels(), kernel = shape.kernel;
  TRY(binder.matrix(prefix + "in_proj_qkv", channels, config.hidden, &out->qkv));
  TRY(binder.matrix(prefix + "in_proj_z", shape.values(), config.hidden, &out->z));
  TRY(binder.matrix(prefix + "in_proj_a", shape.value_heads, config.hidden, &out->a));
  TRY(binder.matrix(prefix + "in_proj_b", shape.value_heads, config.hidden, &out->b));
  TRY(binder.matrix(prefix + "out_proj", config.hidden, shape.values(), &out->out));
  Vector by_channel;
  TRY(binder.floats(prefix + "conv1d.weight", {channels, 1, kernel}, &by_channel));
  out->taps.resize(by_channel.size());
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t j = 0; j < kernel; ++j)
      out->taps[static_cast<size_t>(j * channels + c)] = by_channel[static_cast<size_t>(c * kernel + j)];
  // GGUF has it as it is used.
  const bool as_used = binder.has(prefix + "A");
  TRY(binder.vector(prefix + (as_used ? "A" : "A_log"), shape.value_heads, &out->rate));
  if (!as_used)
    for (float& rate : out->rate) rate = -std::exp(rate);
  TRY(binder.vector(prefix + "dt_bias", shape.value_heads, &out->bias));
  return binder.vector(prefix + "norm.weight", shape.value_dim, &out->norm);
}

struct FfnSize {
  int64_t hidden, ffn;
};

Status bind_dense(TensorBinder& binder, const std::string& prefix, const FfnSize& size, FeedForwardWeights* out) {
  TRY(binder.matrix(prefix + "gate_proj", size.ffn, size.hidden, &out->gate));
  TRY(binder.matrix(prefix + "up_proj", size.ffn, size.hidden, &out->up));
  return binder.matrix(prefix + "down_proj", size.hidden, size.ffn, &out->down);
}

// Gate and up: one tensor for all experts, gate's rows before up's; or one for each of the two, as MLX and our
// quantiser have them; or tensors of its own for each expert.
Status bind_expert_gates(TensorBinder& binder, const std::string& prefix, const QwenConfig& config,
                         FeedForwardWeights* out) {
  const int64_t ffn = config.expert_ffn, hidden = config.hidden;
  if (binder.has(prefix + "experts.gate_up_proj") || binder.has(prefix + "experts.gate_up_proj_packed")) {
    MatrixStack both;
    TRY(binder.plain_stack(prefix + "experts.gate_up_proj", config.experts, 2 * ffn, hidden, &both));
    out->expert_gate = out->expert_up = both;
    out->expert_gate.first = both.first.row_slice(0, config.expert_ffn);
    out->expert_up.first = both.first.row_slice(ffn, config.expert_ffn);
    return Done{};
  }
  const std::string stacked = prefix + "switch_mlp.";
  if (binder.has(stacked + "gate_proj.weight")) {
    TRY(binder.stack(stacked + "gate_proj", config.experts, ffn, hidden, &out->expert_gate));
    return binder.stack(stacked + "up_proj", config.experts, ffn, hidden, &out->expert_up);
  }
  TRY(binder.stack_of(prefix + "experts.", ".gate_proj", {config.experts, ffn, hidden}, &out->expert_gate));
  return binder.stack_of(prefix + "experts.", ".up_proj", {config.experts, ffn, hidden}, &out->expert_up);
}

Status bind_expert_down(TensorBinder& binder, const std::string& prefix, const QwenConfig& config, MatrixStack* out) {
  const int64_t ffn = config.expert_ffn, hidden = config.hidden;
  if (binder.has(prefix + "experts.down_proj") || binder.has(prefix + "experts.down_proj_packed"))
    return binder.plain_stack(prefix + "experts.down_proj", config.experts, hidden, ffn, out);
  if (binder.has(prefix + "switch_mlp.down_proj.weight"))
    return binder.stack(prefix + "switch_mlp.down_proj", config.experts, hidden, ffn, out);
  return binder.stack_of(prefix + "experts.", ".down_proj", {config.experts, hidden, ffn}, out);
}

Status bind_experts(TensorBinder& binder, const std::string& prefix, const QwenConfig& config,
                    FeedForwardWeights* out) {
  TRY(binder.matrix(prefix + "gate", config.experts, config.hidden, &out->router));
  TRY(bind_expert_gates(binder, prefix, config, out));
  TRY(bind_expert_down(binder, prefix, config, &out->expert_down));
  const Matrix &gate = out->expert_gate.first, &up = out->expert_up.first;
  // They are multiplied with the same prepared rows.
  if (!multiply_alike(gate, up))
    return Error{
        fmt::format("{}: expected the experts' gate_proj and up_proj in one format, found {} in groups of {} "
                    "and {} in groups of {}",
                    prefix, weight_format_name(gate.format), gate.group, weight_format_name(up.format), up.group)};
  if (config.shared_ffn == 0) return Done{};
  TRY(binder.matrix(prefix + "shared_expert_gate", 1, config.hidden, &out->shared_gate));
  return bind_dense(binder, prefix + "shared_expert.", {config.hidden, config.shared_ffn}, out);
}

Status bind_head(TensorBinder& binder, QwenWeights* out) {
  out->head = out->embedding;
  if (out->config.tied_head) return Done{};
  const size_t at = binder.has_module(std::string(kHeads[1])) ? 1 : 0;
  return binder.matrix(std::string(kHeads[at]), out->config.vocab, out->config.hidden, &out->head);
}

bool may_be_left(std::string_view name, const QwenConfig& config) {
  if (belongs_to_media(name) || name.ends_with("inv_freq") || name.starts_with(kMtp)) return true;
  return config.tied_head && (name.starts_with(kHeads[0]) || name.starts_with(kHeads[1]));
}

}  // namespace

Status bind_norm(TensorBinder& binder, const std::string& name, int64_t width, const QwenConfig& config, Vector* out) {
  TRY(binder.vector(name, width, out));
  for (float& weight : *out) weight += config.norms_from_one ? 1.0f : 0.0f;
  return Done{};
}

Status bind_layer(TensorBinder& binder, const std::string& prefix, const QwenConfig& config, const LayerConfig& layer,
                  LayerWeights* out) {
  TRY(bind_norm(binder, prefix + "input_layernorm.weight", config.hidden, config, &out->input_norm));
  TRY(bind_norm(binder, prefix + "post_attention_layernorm.weight", config.hidden, config, &out->post_attention_norm));
  if (layer.mixer == Mixer::delta) {
    TRY(bind_delta(binder, prefix + "linear_attn.", config, &out->delta));
  } else {
    TRY(bind_attention(binder, prefix + "self_attn.", config, &out->attention));
  }
  if (layer.experts) return bind_experts(binder, prefix + "mlp.", config, &out->ffn);
  return bind_dense(binder, prefix + "mlp.", {config.hidden, config.ffn}, &out->ffn);
}

Result<std::shared_ptr<const QwenWeights>> bind_weights(std::shared_ptr<const Checkpoint> checkpoint, QwenConfig config,
                                                        ThreadPool& pool, const Progress& progress) {
  TRY_ASSIGN(const std::string prefix, find_prefix(*checkpoint));
  TensorBinder binder(std::move(checkpoint), pool);
  auto weights = std::make_shared<QwenWeights>();
  weights->config = std::move(config);
  const QwenConfig& bound = weights->config;
  TRY(binder.matrix(prefix + "embed_tokens", bound.vocab, bound.hidden, &weights->embedding));
  TRY(bind_norm(binder, prefix + "norm.weight", bound.hidden, bound, &weights->final_norm));
  TRY(bind_head(binder, weights.get()));
  weights->expert_scale.assign(static_cast<size_t>(bound.experts), 1.0f);
  weights->layers.resize(bound.layers.size());
  for (size_t i = 0; i < bound.layers.size(); ++i) {
    TRY(bind_layer(binder, fmt::format("{}layers.{}.", prefix, i), bound, bound.layers[i], &weights->layers[i]));
    if (progress) progress(static_cast<int>(i) + 1, bound.layer_count());
  }
  for (const TensorView* tensor : binder.untaken()) {
    if (may_be_left(tensor->name, bound)) continue;
    return Error{fmt::format("tensor \"{}\" belongs to nothing in a {} model", tensor->name, bound.model_type)};
  }
  weights->owners = binder.take_owners();
  weights->checkpoint = binder.checkpoint();
  return std::shared_ptr<const QwenWeights>(std::move(weights));
}

}  // namespace paceline::qwen
