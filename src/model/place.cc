#include "model/place.h"

namespace paceline {
namespace {

// Every matrix that is multiplied with; embeddings are read row by row and stay as they lie.
void place_layer(LayerWeights& layer, kernels::Ops& ops, std::vector<std::shared_ptr<const void>>& owners) {
  for (Matrix* m : {&layer.q, &layer.k, &layer.v, &layer.o, &layer.gate, &layer.up, &layer.down, &layer.router,
                    &layer.ple_gate, &layer.ple_projection})
    *m = ops.place(*m, owners);
  for (MatrixStack* stack : {&layer.expert_gate, &layer.expert_up, &layer.expert_down})
    *stack = ops.place(*stack, owners);
}

}  // namespace

std::shared_ptr<const TextWeights> place_weights(std::shared_ptr<const TextWeights> weights, kernels::Ops& ops,
                                                 const PlaceProgress& progress) {
  if (weights->placed == ops.placed_tag()) return weights;
  auto placed = std::make_shared<TextWeights>(*weights);
  placed->placed = ops.placed_tag();
  const size_t steps = placed->layers.size() + 1;
  for (size_t i = 0; i < placed->layers.size(); ++i) {
    place_layer(placed->layers[i], ops, placed->owners);
    if (progress) progress(i + 1, steps);
  }
  placed->head = ops.place(placed->head, placed->owners);
  placed->ple_model_projection = ops.place(placed->ple_model_projection, placed->owners);
  if (progress) progress(steps, steps);
  return placed;
}

std::shared_ptr<const MtpWeights> place_weights(std::shared_ptr<const MtpWeights> weights, kernels::Ops& ops) {
  if (weights->placed == ops.placed_tag()) return weights;
  auto placed = std::make_shared<MtpWeights>(*weights);
  placed->placed = ops.placed_tag();
  for (LayerWeights& layer : placed->layers) place_layer(layer, ops, placed->owners);
  for (Matrix* m : {&placed->pre_projection, &placed->post_projection, &placed->head, &placed->centroids})
    *m = ops.place(*m, placed->owners);
  placed->clusters = ops.place(placed->clusters, placed->owners);
  if (placed->clusters.first.packed) placed->cluster_rows.reset();
  return placed;
}

}  // namespace paceline
