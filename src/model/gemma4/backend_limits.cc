#include "model/gemma4/backend_limits.h"

#include <fmt/format.h>

#include <array>

#include "model/weight_formats.h"

namespace paceline {
namespace {

Status check_text(const Gemma4Config& config, const kernels::Limits& limits) {
  TRY(check_at_most("experts", config.experts, limits.experts));
  TRY(check_at_most("experts per token", config.experts_per_token, limits.experts_per_token));
  TRY(check_at_most("numbers in a row (hidden size)", config.hidden, limits.norm_width));
  TRY(check_at_most("numbers in a per-layer embedding", config.ple_width, limits.norm_width));
  for (const LayerConfig& layer : config.layers) {
    if (layer.head_dim % limits.head_step == 0) continue;
    return Error{fmt::format("the model has heads of {} numbers; this backend takes multiples of {}", layer.head_dim,
                             limits.head_step)};
  }
  return Done{};
}

Status check_layer_formats(const std::vector<LayerWeights>& layers, const kernels::Limits& limits) {
  for (const LayerWeights& layer : layers) {
    const std::array<const Matrix*, 13> all = {&layer.q,
                                               &layer.k,
                                               &layer.v,
                                               &layer.o,
                                               &layer.gate,
                                               &layer.up,
                                               &layer.down,
                                               &layer.router,
                                               &layer.ple_gate,
                                               &layer.ple_projection,
                                               &layer.expert_gate.first,
                                               &layer.expert_up.first,
                                               &layer.expert_down.first};
    TRY(check_weight_formats(all, limits));
  }
  return Done{};
}

}  // namespace

Status check_limits(const Gemma4Weights& weights, const kernels::Limits& limits) {
  TRY(check_text(weights.config, limits));
  const std::array<const Matrix*, 4> ends = {&weights.embedding, &weights.head, &weights.ple_embedding,
                                             &weights.ple_model_projection};
  TRY(check_weight_formats(ends, limits));
  TRY(check_layer_formats(weights.layers, limits));
  for (size_t i = 0; i < weights.layers.size(); ++i)
    TRY(check_gates(weights.layers[i].expert_gate.first, weights.layers[i].expert_up.first, i, limits));
  return Done{};
}

Status check_limits(const MtpWeights& weights, const kernels::Limits& limits) {
  TRY(check_text(weights.config.text, limits));
  const std::array<const Matrix*, 5> ends = {&weights.pre_projection, &weights.post_projection, &weights.head,
                                             &weights.centroids, &weights.clusters.first};
  TRY(check_weight_formats(ends, limits));
  TRY(check_layer_formats(weights.layers, limits));
  TRY(check_at_most("clusters of tokens", weights.clusters.count, limits.clusters));
  return weights.clusters.count == 0
             ? Status(Done{})
             : check_at_most("numbers in a cluster's row", weights.clusters.first.cols, limits.cluster_width);
}

}  // namespace paceline
