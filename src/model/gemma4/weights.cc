#include "model/gemma4/weights.h"

#include <cmath>

#include "model/gemma4/backend_limits.h"
#include "model/gemma4/gemma4_forward.h"
#include "model/gemma4/place.h"

namespace paceline {
namespace {

size_t vector_bytes(const Vector& v) { return v.size() * sizeof(float); }

}  // namespace

size_t LayerWeights::shared_bytes() const {
  size_t bytes = sizeof layer_scalar;
  for (const Matrix* m : {&q, &k, &v, &o, &gate, &up, &down, &router, &ple_gate, &ple_projection}) {
    bytes += m->bytes();
  }
  for (const Vector* vector :
       {&input_norm, &post_attention_norm, &pre_ffn_norm, &post_ffn_norm, &q_norm, &k_norm, &post_ffn_norm_1,
        &pre_ffn_norm_2, &post_ffn_norm_2, &router_scale, &per_expert_scale, &post_ple_norm}) {
    bytes += vector_bytes(*vector);
  }
  return bytes;
}

size_t LayerWeights::one_expert_bytes() const {
  return expert_gate.first.bytes() + expert_up.first.bytes() + expert_down.first.bytes();
}

Status Gemma4Weights::check(const kernels::Limits& limits) const { return check_limits(*this, limits); }

std::shared_ptr<const ModelWeights> Gemma4Weights::placed_for(kernels::Ops& ops, const PlaceProgress& progress) const {
  return place_weights(as_gemma4(shared_from_this()), ops, progress);
}

std::unique_ptr<Forward> Gemma4Weights::make_forward(kernels::Ops& ops, Precision precision,
                                                     const std::optional<KvFormats>& kv) const {
  return std::make_unique<Gemma4Forward>(as_gemma4(shared_from_this()), ops, precision, kv);
}

std::shared_ptr<const Gemma4Weights> as_gemma4(const std::shared_ptr<const ModelWeights>& weights) {
  return std::dynamic_pointer_cast<const Gemma4Weights>(weights);
}

LentEnds Gemma4Weights::lent_ends() const {
  const auto scale = static_cast<float>(std::sqrt(static_cast<double>(config.hidden)));
  return {&embedding, &head, scale, config.softcap, config.layer_count()};
}

size_t Gemma4Weights::bytes_per_decode() const {
  size_t bytes = embedding.row_bytes() + head.bytes() + vector_bytes(final_norm);
  bytes += ple_embedding.row_bytes() + ple_model_projection.bytes() + vector_bytes(ple_projection_norm);
  for (const LayerWeights& layer : layers) {
    bytes += layer.shared_bytes() + static_cast<size_t>(config.experts_per_token) * layer.one_expert_bytes();
  }
  return bytes;
}

size_t Gemma4Weights::total_bytes() const {
  size_t bytes = embedding.bytes() + (config.tied_head ? 0 : head.bytes()) + vector_bytes(final_norm);
  bytes += ple_embedding.bytes() + ple_model_projection.bytes() + vector_bytes(ple_projection_norm);
  for (const LayerWeights& layer : layers) {
    bytes += layer.shared_bytes() + static_cast<size_t>(config.experts) * layer.one_expert_bytes();
  }
  return bytes;
}

}  // namespace paceline
