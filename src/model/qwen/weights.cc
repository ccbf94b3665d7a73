#include "model/qwen/weights.h"

#include <fmt/format.h>

#include "model/placing.h"
#include "model/qwen/qwen_forward.h"
#include "model/weight_formats.h"

namespace paceline::qwen {
namespace {

size_t vector_bytes(const Vector& v) { return v.size() * sizeof(float); }

Error lacks(const char* what) { return Error{fmt::format("this backend does not have {} yet", what)}; }

Status check_delta(const kernels::DeltaShape& shape, const kernels::Limits& limits) {
  TRY(check_at_most("taps of a convolution", shape.kernel, limits.delta_kernel));
  for (const int32_t dim : {shape.key_dim, shape.value_dim}) {
    TRY(check_at_most("numbers in a head of Gated DeltaNet", dim, limits.delta_head));
    if (dim % limits.delta_head_step != 0)
      return Error{
          fmt::format("the model has heads of Gated DeltaNet of {} numbers; this backend takes multiples of {}", dim,
                      limits.delta_head_step)};
  }
  return Done{};
}

}  // namespace

void place_layer(Placing& placing, LayerWeights& layer) {
  for (Matrix* m : layer.matrices()) placing.place(*m);
  for (MatrixStack* stack : {&layer.ffn.expert_gate, &layer.ffn.expert_up, &layer.ffn.expert_down})
    placing.place(*stack);
  for (Vector* vector : layer.vectors()) placing.place(*vector);
}

size_t FeedForwardWeights::one_expert_bytes() const {
  return expert_gate.first.bytes() + expert_up.first.bytes() + expert_down.first.bytes();
}

std::vector<Matrix*> LayerWeights::matrices() {
  return {&attention.q, &attention.k, &attention.v, &attention.o, &delta.qkv, &delta.z,         &delta.a,
          &delta.b,     &delta.out,   &ffn.gate,    &ffn.up,      &ffn.down,  &ffn.shared_gate, &ffn.router};
}

std::vector<const Matrix*> LayerWeights::matrices() const {
  const auto all = const_cast<LayerWeights*>(this)->matrices();
  return {all.begin(), all.end()};
}

std::vector<Vector*> LayerWeights::vectors() {
  return {&input_norm, &post_attention_norm, &attention.q_norm, &attention.k_norm,
          &delta.taps, &delta.rate,          &delta.bias,       &delta.norm};
}

size_t LayerWeights::shared_bytes() const {
  size_t bytes = 0;
  for (const Matrix* m : matrices()) bytes += m->bytes();
  for (const Vector* v : const_cast<LayerWeights*>(this)->vectors()) bytes += vector_bytes(*v);
  return bytes;
}

ModelState QwenWeights::state() const {
  ModelState state;
  for (int32_t i = 0; i < config.layer_count(); ++i) {
    LayerState layer;
    layer.kv_layer = i;
    if (config.layers[static_cast<size_t>(i)].mixer == Mixer::delta) {
      layer.kind = StateKind::recurrent;
      layer.delta = config.delta;
    } else {
      layer.kind = StateKind::paged;
      layer.kv_heads = config.kv_heads;
      layer.head_dim = config.head_dim;
    }
    state.layers.push_back(layer);
  }
  return state;
}

Status QwenWeights::check(const kernels::Limits& limits) const {
  TRY(check_at_most("experts", config.experts, limits.experts));
  TRY(check_at_most("experts per token", config.experts_per_token, limits.experts_per_token));
  TRY(check_at_most("numbers in a row (hidden size)", config.hidden, limits.norm_width));
  if (config.head_dim % limits.head_step != 0 || config.rotary % limits.head_step != 0)
    return Error{
        fmt::format("the model has heads of {} numbers, {} of them rotated; this backend takes multiples of {}",
                    config.head_dim, config.rotary, limits.head_step)};
  std::vector<const Matrix*> all{&embedding, &head};
  for (const LayerWeights& layer : layers) {
    for (const Matrix* m : layer.matrices()) all.push_back(m);
    for (const MatrixStack* m : {&layer.ffn.expert_gate, &layer.ffn.expert_up, &layer.ffn.expert_down})
      all.push_back(&m->first);
  }
  TRY(check_weight_formats(all, limits));
  if (config.is_recurrent() && !limits.recurrent) return lacks("layers of Gated DeltaNet");
  if (config.is_recurrent()) TRY(check_delta(config.delta, limits));
  if (config.gates_attention && !limits.recurrent) return lacks("attention with a gate");
  if (!config.divides_shares && !limits.undivided_shares) return lacks("experts whose shares do not add up to 1");
  for (size_t i = 0; i < layers.size(); ++i)
    TRY(check_gates(layers[i].ffn.expert_gate.first, layers[i].ffn.expert_up.first, i, limits));
  return Done{};
}

std::shared_ptr<const ModelWeights> QwenWeights::placed_for(kernels::Ops& ops, const PlaceProgress& progress) const {
  if (placed == ops.placed_tag()) return shared_from_this();
  auto copy = std::make_shared<QwenWeights>(*this);
  copy->placed = ops.placed_tag();
  Placing placing(ops, copy->owners, copy->checkpoint.get());
  const size_t steps = copy->layers.size() + 1;
  for (size_t i = 0; i < copy->layers.size(); ++i) {
    place_layer(placing, copy->layers[i]);
    if (progress && !progress(i + 1, steps)) {
      (void)ops.wait();  // nothing of it is written any more when it goes
      return nullptr;
    }
  }
  // Tied, the head is the embedding again; the embedding is read row by row.
  placing.place_table(copy->embedding);
  placing.place(copy->head);
  placing.place(copy->final_norm);
  placing.place(copy->expert_scale);
  placing.finish();
  if (progress) progress(steps, steps);
  return copy;
}

std::unique_ptr<Forward> QwenWeights::make_forward(kernels::Ops& ops, Precision precision,
                                                   const std::optional<KvFormats>& kv) const {
  return std::make_unique<QwenForward>(as_qwen(shared_from_this()), ops, precision, kv);
}

LentEnds QwenWeights::lent_ends() const { return {&embedding, &head, 1.0f, 0.0f, config.layer_count()}; }

size_t QwenWeights::bytes_per_decode() const {
  size_t bytes = embedding.row_bytes() + head.bytes() + vector_bytes(final_norm);
  for (const LayerWeights& layer : layers)
    bytes += layer.shared_bytes() + static_cast<size_t>(config.experts_per_token) * layer.ffn.one_expert_bytes();
  return bytes;
}

size_t QwenWeights::total_bytes() const {
  size_t bytes = embedding.bytes() + (config.tied_head ? 0 : head.bytes()) + vector_bytes(final_norm);
  for (const LayerWeights& layer : layers)
    bytes += layer.shared_bytes() + static_cast<size_t>(config.experts) * layer.ffn.one_expert_bytes();
  return bytes;
}

std::shared_ptr<const QwenWeights> as_qwen(const std::shared_ptr<const ModelWeights>& weights) {
  return std::dynamic_pointer_cast<const QwenWeights>(weights);
}

}  // namespace paceline::qwen
