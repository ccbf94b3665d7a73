#include "model/gemma4/layer.h"

#include <cmath>

#include "model/experts_touched.h"

namespace paceline {

using kernels::Projection;

Gemma4Layer::Gemma4Layer(const Gemma4Weights& weights, int32_t index, const Backend& backend, Gemma4Scratch& scratch)
    : c_(weights.config),
      l_(weights.layers[static_cast<size_t>(index)]),
      lc_(weights.config.layers[static_cast<size_t>(index)]),
      k_norm_(weights.layers[static_cast<size_t>(lc_.kv_layer)].k_norm),
      index_(index),
      ops_(backend.ops),
      act_(backend.precision == Precision::f32 ? kernels::Activation::f32 : kernels::Activation::bf16),
      s_(scratch) {}

void Gemma4Layer::run(LayerRows& rows) {
  normed_ = sized(s_.normed, int64_t{rows.rows} * c_.hidden);
  branch_ = sized(s_.branch, int64_t{rows.rows} * c_.hidden);
  attention(rows);
  feed_forward(rows);
  if (c_.ple_width > 0) per_layer_input(rows);
}

void Gemma4Layer::attention(LayerRows& r) {
  const kernels::HeadShape shape = r.seqs[0].kv->layout().layers[static_cast<size_t>(index_)].shape(c_.heads);
  float* q = sized(s_.q, static_cast<int64_t>(r.rows) * c_.heads * lc_.head_dim);
  float* k = sized(s_.k, static_cast<int64_t>(r.rows) * lc_.kv_heads * lc_.head_dim);
  float* v = lc_.value_is_key ? k : sized(s_.v, static_cast<int64_t>(r.rows) * lc_.kv_heads * lc_.head_dim);
  const bool owns = lc_.kv_layer == index_;
  norm(r, l_.input_norm);
  const Projection out[3] = {{&l_.q, q}, {&l_.k, k}, {&l_.v, v}};
  ops_.linear(normed_, r.rows, act_, {out, owns ? (lc_.value_is_key ? 2u : 3u) : 1u});

  for (size_t s = 0; s < r.spans.size(); ++s) r.spans[s].pages = r.seqs[s].kv->pages(index_);
  const bool sliding = lc_.kind == LayerKind::sliding;
  const RopeTable rope = (sliding ? s_.rope_sliding : s_.rope_global)
                             .table(ops_, sliding ? c_.rope_sliding : c_.rope_global, lc_.head_dim);
  kernels::HeadsArgs heads;
  heads.shape = shape;
  heads.q = q;
  heads.k = owns ? k : nullptr;
  heads.v = owns ? v : nullptr;
  heads.q_weight = l_.q_norm.for_ops();
  heads.k_weight = k_norm_.for_ops();
  heads.cos = rope.cos;
  heads.sin = rope.sin;
  heads.eps = c_.rms_eps;
  heads.seqs = r.spans;

  float* attended = sized(s_.attended, static_cast<int64_t>(r.rows) * c_.heads * lc_.head_dim);
  const int32_t* last_pos = sliding || c_.both_ways_globally ? r.last_pos : nullptr;
  ops_.attend(heads, {shape, q, attended, sliding ? c_.window : 0, true, r.spans, last_pos});
  const Projection o{&l_.o, branch_};
  ops_.linear(attended, r.rows, act_, {&o, 1});
  ops_.add_norm({r.x, branch_, l_.post_attention_norm.for_ops(), r.rows, c_.hidden, c_.rms_eps, 1.0f});
}

void Gemma4Layer::feed_forward(LayerRows& r) {
  float* wide = sized(s_.ffn, static_cast<int64_t>(r.rows) * l_.gate.rows);
  // layer_scalar comes last; with per-layer embeddings that is after their part.
  const float scale = c_.ple_width > 0 ? 1.0f : l_.layer_scalar;
  const kernels::AddNormArgs add{r.x, branch_, l_.post_ffn_norm.for_ops(), r.rows, c_.hidden, c_.rms_eps, scale};
  if (c_.experts > 0) return mixture(r, wide, add);
  norm(r, l_.pre_ffn_norm);
  ops_.gated(normed_, r.rows, act_, {&l_.gate, &l_.up, wide, kernels::GateFunction::gelu});
  const Projection down{&l_.down, branch_};
  ops_.linear(wide, r.rows, act_, {&down, 1});
  ops_.add_norm(add);
}

// The dense part, the router and the experts all read x, each through a norm of its own.
void Gemma4Layer::mixture(LayerRows& r, float* wide, const kernels::AddNormArgs& add) {
  const int64_t floats = static_cast<int64_t>(r.rows) * c_.hidden;
  float* routed = sized(s_.routed, floats);
  float* in = sized(s_.expert_in, floats);
  float* share = sized(s_.share, static_cast<int64_t>(r.rows) * c_.experts_per_token);
  auto* chosen = reinterpret_cast<int32_t*>(sized(s_.chosen, static_cast<int64_t>(r.rows) * c_.experts_per_token));
  const kernels::NormOutput normed[] = {
      {l_.pre_ffn_norm.for_ops(), normed_},
      {l_.router_scale.for_ops(), routed, 1.0f / std::sqrt(static_cast<float>(c_.hidden))},
      {l_.pre_ffn_norm_2.for_ops(), in}};
  ops_.rms_norms({r.x, r.rows, c_.hidden, c_.rms_eps, normed});
  ops_.route({&l_.router, routed, l_.per_expert_scale.for_ops(), r.rows, c_.experts_per_token,
              sized(s_.scores, static_cast<int64_t>(r.rows) * c_.experts), chosen, share});
  count_experts(r, chosen);
  kernels::MixtureArgs mix;
  mix.gate = &l_.gate;
  mix.up = &l_.up;
  mix.down = &l_.down;
  mix.x = normed_;
  mix.wide = wide;
  mix.dense = branch_;
  mix.experts = {&l_.expert_gate,
                 &l_.expert_up,
                 &l_.expert_down,
                 in,
                 chosen,
                 share,
                 r.rows,
                 c_.experts_per_token,
                 sized(s_.expert_out, floats),
                 kernels::GateFunction::gelu};
  mix.dense_weight = l_.post_ffn_norm_1.for_ops();
  mix.expert_weight = l_.post_ffn_norm_2.for_ops();
  mix.add = add;
  ops_.mixture(mix, act_);
}

// Beyond those that one row reads.
void Gemma4Layer::count_experts(LayerRows& r, const int32_t* chosen) const {
  const int32_t touched = experts_touched(ops_, {chosen, r.rows, c_.experts_per_token, c_.experts});
  r.extra_bytes += static_cast<size_t>(touched - c_.experts_per_token) * l_.one_expert_bytes();
}

void Gemma4Layer::per_layer_input(LayerRows& r) {
  const int32_t width = c_.ple_width;
  float* gate = sized(s_.ffn, static_cast<int64_t>(r.rows) * width);
  ops_.gated_by(r.x, act_, l_.ple_gate,
                {gate, s_.ple.data() + static_cast<int64_t>(index_) * width, r.rows, width, c_.layer_count() * width,
                 kernels::GateFunction::gelu});
  const Projection up{&l_.ple_projection, branch_};
  ops_.linear(gate, r.rows, act_, {&up, 1});
  ops_.add_norm({r.x, branch_, l_.post_ple_norm.for_ops(), r.rows, c_.hidden, c_.rms_eps, l_.layer_scalar});
}

void Gemma4Layer::norm(const LayerRows& r, const Vector& weight) {
  ops_.rms_norm({r.x, weight.empty() ? nullptr : weight.for_ops(), normed_, r.rows, c_.hidden, c_.rms_eps, 1.0f});
}

}  // namespace paceline
