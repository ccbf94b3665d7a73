#include "model/place.h"

namespace paceline {
namespace {

// Places matrix by matrix; what a file held of one that was rearranged is not needed in memory any more.
class Placing {
 public:
  Placing(kernels::Ops& ops, std::vector<std::shared_ptr<const void>>& owners, const Checkpoint* checkpoint)
      : ops_(ops), owners_(owners), checkpoint_(checkpoint) {}

  void place(Matrix& w) {
    const Matrix before = w;
    w = ops_.place(w, owners_);
    if (w.values != before.values) forget(before);
  }

  void place(MatrixStack& stack) {
    const MatrixStack before = stack;
    stack = ops_.place(stack, owners_);
    if (stack.first.values == before.first.values) return;
    for (int32_t e = 0; e < before.count; ++e) forget(before.at(e));
  }

  void place_table(Matrix& w) {
    const Matrix before = w;
    w = ops_.place_table(w, owners_);
    if (w.values != before.values) forget(before);
  }

  void place(Vector& vector) { vector.set_placed(vector.empty() ? nullptr : ops_.place(vector, owners_)); }

  // Reading a file fetches more than was asked for, also of what was given back already.
  void finish() {
    if (checkpoint_ == nullptr || !rearranged_) return;
    for (const MappedFile& file : checkpoint_->files()) file.forget(file.bytes());
  }

  void place(LayerWeights& layer) {
    for (Matrix* m : {&layer.q, &layer.k, &layer.v, &layer.o, &layer.gate, &layer.up, &layer.down, &layer.router,
                      &layer.ple_gate, &layer.ple_projection}) {
      place(*m);
    }
    for (MatrixStack* stack : {&layer.expert_gate, &layer.expert_up, &layer.expert_down}) place(*stack);
    for (Vector* vector :
         {&layer.input_norm, &layer.post_attention_norm, &layer.pre_ffn_norm, &layer.post_ffn_norm, &layer.q_norm,
          &layer.k_norm, &layer.post_ffn_norm_1, &layer.pre_ffn_norm_2, &layer.post_ffn_norm_2, &layer.router_scale,
          &layer.per_expert_scale, &layer.post_ple_norm}) {
      place(*vector);
    }
  }

 private:
  void forget(const Matrix& w) {
    rearranged_ = true;
    if (checkpoint_ == nullptr) return;
    const auto rows = static_cast<size_t>(w.rows);
    checkpoint_->forget({static_cast<const std::byte*>(w.values), rows * w.row_value_bytes()});
    for (const void* part : {w.scales, w.biases}) {
      checkpoint_->forget({static_cast<const std::byte*>(part), rows * w.row_scale_bytes()});
    }
  }

  kernels::Ops& ops_;
  std::vector<std::shared_ptr<const void>>& owners_;
  const Checkpoint* checkpoint_;
  bool rearranged_ = false;
};

}  // namespace

std::shared_ptr<const TextWeights> place_weights(std::shared_ptr<const TextWeights> weights, kernels::Ops& ops,
                                                 const PlaceProgress& progress) {
  if (weights->placed == ops.placed_tag()) return weights;
  auto placed = std::make_shared<TextWeights>(*weights);
  placed->placed = ops.placed_tag();
  Placing placing(ops, placed->owners, placed->checkpoint.get());
  const size_t steps = placed->layers.size() + 1;
  for (size_t i = 0; i < placed->layers.size(); ++i) {
    placing.place(placed->layers[i]);
    if (progress) progress(i + 1, steps);
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
  for (LayerWeights& layer : placed->layers) placing.place(layer);
  for (Matrix* m : {&placed->pre_projection, &placed->post_projection, &placed->head, &placed->centroids}) {
    placing.place(*m);
  }
  placing.place(placed->clusters);
  placed->placed_cluster_tokens = nullptr;
  if (!placed->cluster_tokens.empty())
    placed->placed_cluster_tokens = ops.place(std::span<const TokenId>(placed->cluster_tokens), placed->owners);
  placing.place(placed->final_norm);
  placing.finish();
  if (placed->clusters.first.packed) placed->cluster_rows.reset();
  return placed;
}

}  // namespace paceline
