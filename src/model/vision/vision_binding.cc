#include <fmt/format.h>

#include <array>

#include "model/tensor_binder.h"
#include "model/vision/vision_config_reader.h"
#include "model/vision/vision_weights.h"

namespace paceline {
namespace {

// Hugging Face's and MLX's.
constexpr std::array<std::string_view, 2> kVisionPrefixes = {"model.", ""};

Status bind_range(TensorBinder& binder, const std::string& name, const char* low, const char* high, ClampRange* out) {
  TRY(binder.number(name + low, &out->low));
  TRY(binder.number(name + high, &out->high));
  if (out->low <= out->high) return Done{};
  return Error{fmt::format("{}: expected a range, found {} to {}", name, out->low, out->high)};
}

Status bind_linear(TensorBinder& binder, const VisionConfig& config, const std::string& name, int64_t rows,
                   int64_t cols, VisionLinear* out) {
  const std::string wrapped = name + ".linear";
  TRY(binder.matrix(binder.has_module(wrapped) ? wrapped : name, rows, cols, &out->weight));
  if (!config.clipped) return Done{};
  TRY(bind_range(binder, name, ".input_min", ".input_max", &out->input));
  return bind_range(binder, name, ".output_min", ".output_max", &out->output);
}

Status bind_layer(TensorBinder& binder, const VisionConfig& config, const std::string& prefix, VisionLayer* out) {
  const int64_t hidden = config.hidden, heads = int64_t{config.heads} * config.head_dim, ffn = config.ffn;
  TRY(binder.vector(prefix + "input_layernorm.weight", hidden, &out->input_norm));
  TRY(binder.vector(prefix + "post_attention_layernorm.weight", hidden, &out->post_attention_norm));
  TRY(binder.vector(prefix + "pre_feedforward_layernorm.weight", hidden, &out->pre_ffn_norm));
  TRY(binder.vector(prefix + "post_feedforward_layernorm.weight", hidden, &out->post_ffn_norm));
  TRY(binder.vector(prefix + "self_attn.q_norm.weight", config.head_dim, &out->q_norm));
  TRY(binder.vector(prefix + "self_attn.k_norm.weight", config.head_dim, &out->k_norm));
  TRY(bind_linear(binder, config, prefix + "self_attn.q_proj", heads, hidden, &out->q));
  TRY(bind_linear(binder, config, prefix + "self_attn.k_proj", heads, hidden, &out->k));
  TRY(bind_linear(binder, config, prefix + "self_attn.v_proj", heads, hidden, &out->v));
  TRY(bind_linear(binder, config, prefix + "self_attn.o_proj", hidden, heads, &out->o));
  TRY(bind_linear(binder, config, prefix + "mlp.gate_proj", ffn, hidden, &out->gate));
  TRY(bind_linear(binder, config, prefix + "mlp.up_proj", ffn, hidden, &out->up));
  return bind_linear(binder, config, prefix + "mlp.down_proj", hidden, ffn, &out->down);
}

// The table of positions, as one tall matrix.
Status bind_positions(TensorBinder& binder, const std::string& name, int64_t count, int64_t rows, VisionWeights* out) {
  MatrixStack stack;
  TRY(binder.plain_stack(name, count, rows, out->config.hidden, &stack));
  out->positions = stack.first;
  out->positions.rows = static_cast<int32_t>(count * rows);
  return Done{};
}

Status bind_tower(TensorBinder& binder, const std::string& prefix, VisionWeights* out) {
  const VisionConfig& config = out->config;
  const int64_t values = int64_t{3} * config.shape.patch * config.shape.patch;
  TRY(binder.matrix(prefix + "patch_embedder.input_proj", config.hidden, values, &out->input));
  TRY(bind_positions(binder, prefix + "patch_embedder.position_embedding_table", 2, config.positions, out));
  out->layers.resize(static_cast<size_t>(config.layers));
  for (size_t i = 0; i < out->layers.size(); ++i) {
    TRY(bind_layer(binder, config, fmt::format("{}encoder.layers.{}.", prefix, i), &out->layers[i]));
  }
  if (!config.standardised) return Done{};
  TRY(binder.vector(prefix + "std_bias", config.hidden, &out->shift));
  for (float& value : out->shift) value = -value;
  return binder.vector(prefix + "std_scale", config.hidden, &out->scale);
}

Status bind_norm(TensorBinder& binder, const std::string& name, int64_t width, VisionWeights::Norm* out) {
  TRY(binder.vector(name + ".weight", width, &out->weight));
  return binder.vector(name + ".bias", width, &out->bias);
}

Status bind_embedder(TensorBinder& binder, const std::string& prefix, VisionWeights* out) {
  const VisionConfig& config = out->config;
  const int64_t values = int64_t{3} * config.side() * config.side();
  TRY(bind_norm(binder, prefix + "patch_ln1", values, &out->patch_norm));
  TRY(binder.matrix(prefix + "patch_dense", config.hidden, values, &out->input));
  TRY(binder.vector(prefix + "patch_dense.bias", config.hidden, &out->input_bias));
  TRY(bind_norm(binder, prefix + "patch_ln2", config.hidden, &out->embedded_norm));
  TRY(bind_positions(binder, prefix + "pos_embedding", config.positions, 2, out));
  return bind_norm(binder, prefix + "pos_norm", config.hidden, &out->positioned_norm);
}

Result<std::string> find_prefix(const TensorBinder& binder) {
  for (const std::string_view prefix : kVisionPrefixes) {
    if (binder.has(fmt::format("{}embed_vision.embedding_projection.weight", prefix))) return std::string(prefix);
  }
  return Error{"tensor \"model.embed_vision.embedding_projection.weight\" is missing: the weights have no vision side"};
}

}  // namespace

Result<std::shared_ptr<const VisionWeights>> load_vision_weights(const std::shared_ptr<const Checkpoint>& checkpoint,
                                                                 int32_t text_hidden, ThreadPool& pool) {
  TRY_ASSIGN(const auto config, read_vision_config(checkpoint->config_json()));
  if (!config) return Error{"this model takes no pictures: config.json has no vision_config"};
  auto weights = std::make_shared<VisionWeights>();
  weights->config = *config;
  weights->text_hidden = text_hidden;
  TensorBinder binder(checkpoint, pool);
  TRY_ASSIGN(const std::string prefix, find_prefix(binder));
  if (config->kind == VisionKind::tower) {
    TRY(bind_tower(binder, prefix + "vision_tower.", weights.get()));
  } else {
    TRY(bind_embedder(binder, prefix + "vision_embedder.", weights.get()));
  }
  TRY(binder.matrix(prefix + "embed_vision.embedding_projection", text_hidden, config->hidden, &weights->projection));
  weights->owners = binder.take_owners();
  return std::shared_ptr<const VisionWeights>(std::move(weights));
}

}  // namespace paceline
