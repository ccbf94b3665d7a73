#include "model/gemma4/place.h"

#include "model/placing.h"

namespace paceline {
namespace {

void place_layer(Placing& placing, LayerWeights& layer) {
  for (Matrix* m : {&layer.q, &layer.k, &layer.v, &layer.o, &layer.gate, &layer.up, &layer.down, &layer.router,
                    &layer.ple_gate, &layer.ple_projection}) {
    placing.place(*m);
  }
  for (MatrixStack* stack : {&layer.expert_gate, &layer.expert_up, &layer.expert_down}) placing.place(*stack);
  for (Vector* vector : {&layer.input_norm, &layer.post_attention_norm, &layer.pre_ffn_norm, &layer.post_ffn_norm,
                         &layer.q_norm, &layer.k_norm, &layer.post_ffn_norm_1, &layer.pre_ffn_norm_2,
                         &layer.post_ffn_norm_2, &layer.router_scale, &layer.per_expert_scale, &layer.post_ple_norm}) {
    placing.place(*vector);
  }
}

}  // namespace

std::shared_ptr<const Gemma4Weights> place_weights(std::shared_ptr<const Gemma4Weights> weights, kernels::Ops& ops,
                                                   const PlaceProgress& progress) {
  if (weights->placed == ops.placed_tag()) return weights;
  auto placed = std::make_shared<Gemma4Weights>(*weights);
  placed->placed = ops.placed_tag();
  Placing placing(ops, placed->owners, placed->checkpoint.get());
  const size_t steps = placed->layers.size() + 1;
  for (size_t i = 0; i < placed->layers.size(); ++i) {
    place_layer(placing, placed->layers[i]);
    if (progress && !progress(i + 1, steps)) {
      (void)ops.wait();  // nothing of it is written any more when it goes
      return nullptr;
    }
  }
  // Tied, the head is the embedding again; the embedding is read row by row.
  placing.place_table(placed->embedding);
  placing.place(placed->head);
  placing.place_table(placed->ple_embedding);
  placing.place(placed->ple_model_projection);
  placing.place(placed->final_norm);
  placing.place(placed->ple_projection_norm);
  placing.finish();
  if (progress) progress(steps, steps);
  return placed;
}

std::shared_ptr<const MtpWeights> place_weights(std::shared_ptr<const MtpWeights> weights, kernels::Ops& ops) {
  if (weights->placed == ops.placed_tag()) return weights;
  auto placed = std::make_shared<MtpWeights>(*weights);
  placed->placed = ops.placed_tag();
  Placing placing(ops, placed->owners, placed->checkpoint.get());
  for (LayerWeights& layer : placed->layers) place_layer(placing, layer);
  for (Matrix* m : {&placed->pre_projection, &placed->post_projection, &placed->head, &placed->centroids}) {
    placing.place(*m);
  }
  const double* const factors = placed->clusters.first.factors;
  placing.place(placed->clusters);
  placed->placed_cluster_tokens = nullptr;
  if (!placed->cluster_tokens.empty())
    placed->placed_cluster_tokens = ops.place(std::span<const TokenId>(placed->cluster_tokens), placed->owners);
  placing.place(placed->final_norm);
  placing.finish();
  // Factors of rows lie there, too, unless the backend has its own.
  const bool kept = factors != nullptr && placed->clusters.first.factors == factors;
  if (placed->clusters.first.packed && !kept) placed->cluster_rows.reset();
  return placed;
}

}  // namespace paceline
