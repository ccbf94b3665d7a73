#include "model/forward.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "kernels/row_buffer.h"
#include "model/place.h"
#include "model/rope.h"
#include "model/state_of.h"

namespace paceline {

using kernels::Activation;
using kernels::Projection;
using kernels::RowBuffer;

// Row buffers, [rows, …] each, grown to what calls need.
struct Forward::Scratch {
  RowBuffer x, normed, q, k, v, attended, branch, ffn, hidden, head_rows, logits, taps;
  RowBuffer routed, expert_in, expert_out, scores, share, chosen;
  std::vector<char> touched;
  RowBuffer ple, ple_rows, tokens, ple_row_tokens;
  RopeRows rope_sliding, rope_global;
  std::vector<kernels::SeqSpan> spans;
  std::vector<TokenId> ple_tokens;
  std::vector<int32_t> last_pos;
  // What the host reads at the end, and what it reads after a fault.
  kernels::HostCopy logits_copy, taps_copy;
  std::vector<float> zeros;
};

float embedding_scale(int32_t width, Precision precision) {
  const float exact = std::sqrt(static_cast<float>(width));
  return precision == Precision::f32 ? exact : bf16_to_f32(f32_to_bf16(exact));
}

Forward::Forward(std::shared_ptr<const TextWeights> weights, kernels::Ops& ops, Precision precision)
    : weights_(place_weights(std::move(weights), ops)),
      ops_(ops),
      precision_(precision),
      layout_(state_of(weights_->config), precision == Precision::f32 ? DType::f32 : DType::bf16,
              ops.on_host() ? nullptr : &ops),
      scratch_(std::make_unique<Scratch>()) {}

Forward::~Forward() = default;

// One call's passage through the layers.
class Pass {
 public:
  Pass(const TextWeights& weights, const KvLayout& layout, kernels::Ops& ops, Precision precision,
       Forward::Scratch& scratch, const ForwardInput& input)
      : w_(weights),
        c_(weights.config),
        layout_(layout),
        ops_(ops),
        s_(scratch),
        in_(input),
        precision_(precision),
        act_(precision == Precision::f32 ? Activation::f32 : Activation::bf16),
        rows_(static_cast<int32_t>(input.tokens.size())) {}

  ForwardRows run() {
    place_rows();
    embed();
    for (int32_t i = 0; i < c_.layer_count(); ++i) {
      tap(i);
      attention(i);
      feed_forward(i);
      if (c_.ple_width > 0) per_layer_input(i);
    }
    tap(c_.layer_count());
    return head();
  }

 private:
  float* sized(RowBuffer& buffer, int64_t floats) { return buffer.sized(ops_, floats); }

  const LayerWeights& layer(int32_t i) const { return w_.layers[static_cast<size_t>(i)]; }

  void norm(const float* x, const Vector& weight, float* y, float scale = 1.0f) {
    ops_.rms_norm({x, weight.empty() ? nullptr : weight.for_ops(), y, rows_, c_.hidden, c_.rms_eps, scale});
  }

  void embed() {
    x_ = sized(s_.x, static_cast<int64_t>(rows_) * c_.hidden);
    normed_ = sized(s_.normed, static_cast<int64_t>(rows_) * c_.hidden);
    branch_ = sized(s_.branch, static_cast<int64_t>(rows_) * c_.hidden);
    tokens_ = picked(in_.tokens, s_.tokens);
    ops_.embed(w_.embedding, tokens_, rows_, embedding_scale(c_.hidden, precision_), x_);
    for (const SoftRows& soft : soft_rows_)
      ops_.upload(x_ + static_cast<int64_t>(soft.first_row) * c_.hidden, soft.embeddings,
                  static_cast<size_t>(soft.count) * static_cast<size_t>(c_.hidden) * sizeof(float));
    if (c_.ple_width > 0) embed_per_layer();
  }

  const TokenId* picked(std::span<const TokenId> given, RowBuffer& buffer) {
    auto* to = reinterpret_cast<TokenId*>(sized(buffer, rows_));
    ops_.pick_tokens({given, in_.drafted_at, in_.drafted, to});
    return to;
  }

  // Per-layer embeddings know no soft tokens: these take the pad token's.
  [[nodiscard]] const TokenId* per_layer_tokens() {
    if (soft_rows_.empty()) return tokens_;
    s_.ple_tokens.assign(in_.tokens.begin(), in_.tokens.end());
    for (const SoftRows& soft : soft_rows_)
      std::fill_n(s_.ple_tokens.begin() + soft.first_row, soft.count, std::max(c_.ids.pad, TokenId{0}));
    return picked(s_.ple_tokens, s_.ple_row_tokens);
  }

  // ple [rows, layers, width] = (norm(project(x) / sqrt(hidden)) + embedding * sqrt(width)) / sqrt(2)
  void embed_per_layer() {
    const int32_t width = c_.ple_width, all = c_.layer_count() * width;
    float* projected = sized(s_.ple, static_cast<int64_t>(rows_) * all);
    float* embedded = sized(s_.ple_rows, static_cast<int64_t>(rows_) * all);
    const Projection out{&w_.ple_model_projection, projected};
    ops_.linear(x_, rows_, act_, {&out, 1});
    // eps belongs to the scaled value, norm(x * f) = norm(x) with eps / f^2.
    const float eps = c_.rms_eps * static_cast<float>(c_.hidden);
    ops_.rms_norm({projected, w_.ple_projection_norm.for_ops(), projected, rows_ * c_.layer_count(), width, eps, 1.0f});
    ops_.embed(w_.ple_embedding, per_layer_tokens(), rows_, embedding_scale(width, precision_), embedded);
    ops_.add_scaled(projected, embedded, static_cast<float>(M_SQRT1_2), static_cast<int64_t>(rows_) * all);
  }

  void place_rows() {
    s_.spans.clear();
    int32_t row = 0;
    s_.rope_sliding.clear();
    s_.rope_global.clear();
    for (const SeqRows& seq : in_.seqs) {
      // Whoever shares a pool has seen to it before.
      const bool has_room = seq.kv->reserve(seq.count);
      CHECK(has_room);
      s_.spans.push_back({row, seq.count, seq.kv->length(), {}});
      find_soft_rows(seq, row);
      row += seq.count;
      for (int32_t i = 0; i < seq.count; ++i) {
        s_.rope_sliding.add(seq.kv->length() + i);
        s_.rope_global.add(seq.kv->length() + i);
      }
    }
    CHECK(row == rows_);
    if (c_.images_see_both_ways && !soft_rows_.empty()) look_ahead();
  }

  // The part of the sequence's soft tokens that this call runs.
  void find_soft_rows(const SeqRows& seq, int32_t first_row) {
    const int32_t begin = seq.kv->length(), end = begin + seq.count;
    for (const SoftTokens& soft : seq.soft) {
      const int32_t from = std::max(begin, soft.first_pos), to = std::min(end, soft.end_pos());
      if (from >= to) continue;
      CHECK(!c_.images_see_both_ways || to - from == soft.count);
      soft_rows_.push_back({first_row + from - begin, to - from, to - 1,
                            soft.embeddings + static_cast<int64_t>(from - soft.first_pos) * c_.hidden});
    }
  }

  // last_pos [rows]: a row's own position, or its image's last.
  void look_ahead() {
    s_.last_pos.clear();
    for (const kernels::SeqSpan& span : s_.spans)
      for (int32_t i = 0; i < span.count; ++i) s_.last_pos.push_back(span.first_pos + i);
    for (const SoftRows& soft : soft_rows_)
      std::fill_n(s_.last_pos.begin() + soft.first_row, soft.count, soft.last_pos);
    last_pos_ = s_.last_pos.data();
  }

  void attention(int32_t i) {
    const LayerWeights& l = layer(i);
    const LayerConfig& lc = c_.layers[static_cast<size_t>(i)];
    const kernels::HeadShape shape{c_.heads, lc.kv_heads, lc.head_dim, layout_.dtype};
    float* q = sized(s_.q, static_cast<int64_t>(rows_) * c_.heads * lc.head_dim);
    float* k = sized(s_.k, static_cast<int64_t>(rows_) * lc.kv_heads * lc.head_dim);
    float* v = lc.value_is_key ? k : sized(s_.v, static_cast<int64_t>(rows_) * lc.kv_heads * lc.head_dim);
    const bool owns = lc.kv_layer == i;
    norm(x_, l.input_norm, normed_);
    const Projection out[3] = {{&l.q, q}, {&l.k, k}, {&l.v, v}};
    ops_.linear(normed_, rows_, act_, {out, owns ? (lc.value_is_key ? 2u : 3u) : 1u});

    for (size_t s = 0; s < s_.spans.size(); ++s) s_.spans[s].pages = in_.seqs[s].kv->pages(i);
    const bool sliding = lc.kind == LayerKind::sliding;
    const RopeTable rope = (sliding ? s_.rope_sliding : s_.rope_global)
                               .table(ops_, sliding ? c_.rope_sliding : c_.rope_global, lc.head_dim);
    kernels::HeadsArgs heads;
    heads.shape = shape;
    heads.q = q;
    heads.k = owns ? k : nullptr;
    heads.v = owns ? v : nullptr;
    heads.q_weight = l.q_norm.for_ops();
    heads.k_weight = l.k_norm.for_ops();
    heads.cos = rope.cos;
    heads.sin = rope.sin;
    heads.eps = c_.rms_eps;
    heads.seqs = s_.spans;

    float* attended = sized(s_.attended, static_cast<int64_t>(rows_) * c_.heads * lc.head_dim);
    const int32_t* last_pos = sliding || c_.both_ways_globally ? last_pos_ : nullptr;
    ops_.attend(heads, {shape, q, attended, sliding ? c_.window : 0, true, s_.spans, last_pos});
    const Projection o{&l.o, branch_};
    ops_.linear(attended, rows_, act_, {&o, 1});
    ops_.add_norm({x_, branch_, l.post_attention_norm.for_ops(), rows_, c_.hidden, c_.rms_eps, 1.0f});
  }

  void feed_forward(int32_t i) {
    const LayerWeights& l = layer(i);
    float* wide = sized(s_.ffn, static_cast<int64_t>(rows_) * l.gate.rows);
    // layer_scalar comes last; with per-layer embeddings that is after their part.
    const float scale = c_.ple_width > 0 ? 1.0f : l.layer_scalar;
    const kernels::AddNormArgs add{x_, branch_, l.post_ffn_norm.for_ops(), rows_, c_.hidden, c_.rms_eps, scale};
    if (c_.experts > 0) return mixture(l, wide, add);
    norm(x_, l.pre_ffn_norm, normed_);
    ops_.gated(normed_, rows_, act_, l.gate, l.up, wide);
    const Projection down{&l.down, branch_};
    ops_.linear(wide, rows_, act_, {&down, 1});
    ops_.add_norm(add);
  }

  // The dense part, the router and the experts all read x, each through a norm of its own.
  void mixture(const LayerWeights& l, float* wide, const kernels::AddNormArgs& add) {
    const int64_t floats = static_cast<int64_t>(rows_) * c_.hidden;
    float* routed = sized(s_.routed, floats);
    float* in = sized(s_.expert_in, floats);
    float* share = sized(s_.share, static_cast<int64_t>(rows_) * c_.experts_per_token);
    auto* chosen = reinterpret_cast<int32_t*>(sized(s_.chosen, static_cast<int64_t>(rows_) * c_.experts_per_token));
    const kernels::NormOutput normed[] = {
        {l.pre_ffn_norm.for_ops(), normed_},
        {l.router_scale.for_ops(), routed, 1.0f / std::sqrt(static_cast<float>(c_.hidden))},
        {l.pre_ffn_norm_2.for_ops(), in}};
    ops_.rms_norms({x_, rows_, c_.hidden, c_.rms_eps, normed});
    ops_.route({&l.router, routed, l.per_expert_scale.for_ops(), rows_, c_.experts_per_token,
                sized(s_.scores, static_cast<int64_t>(rows_) * c_.experts), chosen, share});
    count_experts(l, chosen);
    kernels::MixtureArgs mix;
    mix.gate = &l.gate;
    mix.up = &l.up;
    mix.down = &l.down;
    mix.x = normed_;
    mix.wide = wide;
    mix.dense = branch_;
    mix.experts = {&l.expert_gate,
                   &l.expert_up,
                   &l.expert_down,
                   in,
                   chosen,
                   share,
                   rows_,
                   c_.experts_per_token,
                   sized(s_.expert_out, floats)};
    mix.dense_weight = l.post_ffn_norm_1.for_ops();
    mix.expert_weight = l.post_ffn_norm_2.for_ops();
    mix.add = add;
    ops_.mixture(mix, act_);
  }

  // Beyond those that one row reads.
  void count_experts(const LayerWeights& l, const int32_t* chosen) {
    size_t touched = 0;
    if (ops_.on_host()) {
      s_.touched.assign(static_cast<size_t>(c_.experts), 0);
      for (int32_t i = 0; i < rows_ * c_.experts_per_token; ++i) s_.touched[static_cast<size_t>(chosen[i])] = 1;
      for (const char one : s_.touched) touched += static_cast<size_t>(one);
    } else {
      const double missed = std::pow(1.0 - static_cast<double>(c_.experts_per_token) / c_.experts, rows_);
      touched = static_cast<size_t>(std::lround(c_.experts * (1.0 - missed)));
    }
    extra_bytes_ += (touched - static_cast<size_t>(c_.experts_per_token)) * l.one_expert_bytes();
  }

  void per_layer_input(int32_t i) {
    const LayerWeights& l = layer(i);
    const int32_t width = c_.ple_width;
    float* gate = sized(s_.ffn, static_cast<int64_t>(rows_) * width);
    ops_.gated_by(x_, act_, l.ple_gate,
                  {gate, s_.ple.data() + static_cast<int64_t>(i) * width, rows_, width, c_.layer_count() * width});
    const Projection up{&l.ple_projection, branch_};
    ops_.linear(gate, rows_, act_, {&up, 1});
    ops_.add_norm({x_, branch_, l.post_ple_norm.for_ops(), rows_, c_.hidden, c_.rms_eps, l.layer_scalar});
  }

  void tap(int32_t i) {
    for (size_t t = 0; t < in_.tap_layers.size(); ++t) {
      if (in_.tap_layers[t] != i) continue;
      const int64_t floats = static_cast<int64_t>(rows_) * c_.hidden;
      float* taps = sized(s_.taps, floats * static_cast<int64_t>(in_.tap_layers.size()));
      ops_.copy(taps + static_cast<int64_t>(t) * floats, x_, static_cast<size_t>(floats) * sizeof(float));
    }
  }

  ForwardRows head() {
    float* hidden = sized(s_.hidden, static_cast<int64_t>(rows_) * c_.hidden);
    norm(x_, w_.final_norm, hidden);
    ForwardRows out;
    out.weight_bytes = w_.bytes_per_decode() + extra_bytes_;
    out.tokens = tokens_;
    out.hidden = hidden;
    if (!in_.tap_layers.empty()) out.taps = s_.taps.data();
    const auto wanted = static_cast<int32_t>(in_.logit_rows.size());
    if (wanted > 0) {
      float* rows = sized(s_.head_rows, static_cast<int64_t>(wanted) * c_.hidden);
      ops_.gather(hidden, in_.logit_rows, c_.hidden, rows);
      const int64_t floats = static_cast<int64_t>(wanted) * c_.vocab;
      float* logits = sized(s_.logits, floats);
      const Projection head{&w_.head, logits};
      ops_.linear(rows, wanted, act_, {&head, 1});
      if (c_.softcap > 0) ops_.softcap(logits, c_.softcap, floats);
      out.logits = logits;
    }
    return out;
  }

  const TextWeights& w_;
  const ModelConfig& c_;
  const KvLayout& layout_;
  kernels::Ops& ops_;
  Forward::Scratch& s_;
  const ForwardInput& in_;
  Precision precision_;
  Activation act_;
  int32_t rows_;
  struct SoftRows {
    int32_t first_row, count;
    int32_t last_pos;
    const float* embeddings;  // [count, hidden]
  };
  std::vector<SoftRows> soft_rows_;
  const int32_t* last_pos_ = nullptr;  // [rows], or none: every row sees up to itself
  size_t extra_bytes_ = 0;
  const TokenId* tokens_ = nullptr;  // [rows]
  float* x_ = nullptr;               // [rows, hidden]: the residual stream
  float* normed_ = nullptr;          // [rows, hidden]
  float* branch_ = nullptr;          // [rows, hidden]: what is about to be added to x
};

ForwardRows Forward::enqueue(const ForwardInput& input) {
  CHECK(!input.tokens.empty() && input.tokens.size() <= static_cast<size_t>(kMaxImageRows));
  CHECK(input.drafted_at.empty() || input.drafted_at.size() == input.tokens.size());
  const ForwardRows out = Pass(*weights_, layout_, ops_, precision_, *scratch_, input).run();
  for (const SeqRows& seq : input.seqs) seq.kv->commit(seq.count);
  return out;
}

const Status& Forward::settle() {
  if (const Status waited = ops_.wait(); !waited.ok()) status_ = waited;
  return status_;
}

ForwardOutput Forward::run(const ForwardInput& input) {
  const ForwardRows rows = enqueue(input);
  const auto fetched = [&](const float* from, size_t count, int32_t width, kernels::HostCopy& copy) {
    if (from == nullptr) return from;
    return static_cast<const float*>(ops_.fetch(from, count * static_cast<size_t>(width) * sizeof(float), copy));
  };
  ForwardOutput out;
  out.hidden = rows.hidden;
  out.weight_bytes = rows.weight_bytes;
  const ModelConfig& c = weights_->config;
  const size_t tapped = input.tap_layers.size() * input.tokens.size();
  out.logits = fetched(rows.logits, input.logit_rows.size(), c.vocab, scratch_->logits_copy);
  out.taps = fetched(rows.taps, tapped, c.hidden, scratch_->taps_copy);
  if (!settle().ok()) {
    scratch_->zeros.assign(
        std::max(input.logit_rows.size() * static_cast<size_t>(c.vocab), tapped * static_cast<size_t>(c.hidden)), 0.0f);
    out.logits = out.taps = scratch_->zeros.data();
  }
  return out;
}

}  // namespace paceline
