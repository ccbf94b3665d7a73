#include "model/weights.h"

namespace paceline {
namespace {

size_t vector_bytes(const Vector& v) { return v.size() * sizeof(float); }

size_t row_bytes(const Matrix& m) { return m.row_value_bytes() + 2 * m.row_scale_bytes(); }

// Everything of a layer that every step reads; experts apart.
size_t shared_bytes(const LayerWeights& layer) {
  size_t bytes = sizeof layer.layer_scalar;
  for (const Matrix* m : {&layer.q, &layer.k, &layer.v, &layer.o, &layer.gate, &layer.up, &layer.down, &layer.router,
                          &layer.ple_gate, &layer.ple_projection}) {
    bytes += m->bytes();
  }
  for (const Vector* v : {&layer.input_norm, &layer.post_attention_norm, &layer.pre_ffn_norm, &layer.post_ffn_norm,
                          &layer.q_norm, &layer.k_norm, &layer.post_ffn_norm_1, &layer.pre_ffn_norm_2,
                          &layer.post_ffn_norm_2, &layer.router_scale, &layer.per_expert_scale, &layer.post_ple_norm}) {
    bytes += vector_bytes(*v);
  }
  return bytes;
}

}  // namespace

size_t LayerWeights::one_expert_bytes() const {
  return expert_gate.first.bytes() + expert_up.first.bytes() + expert_down.first.bytes();
}

size_t TextWeights::bytes_per_decode() const {
  size_t bytes = row_bytes(embedding) + head.bytes() + vector_bytes(final_norm);
  bytes += row_bytes(ple_embedding) + ple_model_projection.bytes() + vector_bytes(ple_projection_norm);
  for (const LayerWeights& layer : layers) {
    bytes += shared_bytes(layer) + static_cast<size_t>(config.experts_per_token) * layer.one_expert_bytes();
  }
  return bytes;
}

size_t TextWeights::total_bytes() const {
  size_t bytes = embedding.bytes() + (config.tied_head ? 0 : head.bytes()) + vector_bytes(final_norm);
  bytes += ple_embedding.bytes() + ple_model_projection.bytes() + vector_bytes(ple_projection_norm);
  for (const LayerWeights& layer : layers) {
    bytes += shared_bytes(layer) + static_cast<size_t>(config.experts) * layer.one_expert_bytes();
  }
  return bytes;
}

}  // namespace paceline
