#include "model/qwen/mtp_forward.h"

#include <algorithm>

#include "base/check.h"

namespace paceline::qwen {
namespace {

int32_t add_layer(Forward& target, const QwenConfig& config) {
  const LayerState layer{StateKind::draft_paged, config.kv_heads, config.head_dim};
  return target.add_draft_layers({&layer, 1}, 0);
}

size_t deepest_of(std::span<const MtpAsk> asks) {
  size_t deepest = 0;
  for (const MtpAsk& ask : asks) deepest = std::max(deepest, ask.out.size());
  return deepest;
}

kernels::Activation activation_of(const Forward& target) {
  return target.precision() == Precision::f32 ? kernels::Activation::f32 : kernels::Activation::bf16;
}

}  // namespace

MtpForward::MtpForward(std::shared_ptr<const MtpWeights> weights, Forward& target)
    : weights_(place_mtp(std::move(weights), target.ops())),
      target_(as_qwen(target.weights())),
      ops_(target.ops()),
      kv_layer_(add_layer(target, target_->config)),
      shape_(target.kv_layout().layers[static_cast<size_t>(kv_layer_)].shape(target_->config.heads)),
      with_{ops_, activation_of(target), s_},
      layer_(target_->config, weights_->layer, target_->expert_scale, with_) {}

void MtpForward::read(std::span<const MtpRows> seqs, const float* states) {
  std::vector<Place> places;
  row_tokens_.clear();
  rows_.clear();
  for (const MtpRows& seq : seqs) {
    if (seq.count == 0) continue;
    places.push_back({seq.memory, seq.kv, seq.first_pos, seq.count});
    row_tokens_.insert(row_tokens_.end(), seq.next.begin(), seq.next.end());
    for (int32_t i = 0; i < seq.count; ++i) rows_.push_back(seq.first_row + i);
    seq.memory->end = seq.first_pos + seq.count;
  }
  if (places.empty()) return;
  const QwenConfig& c = target_->config;
  const auto rows = static_cast<int32_t>(rows_.size());
  auto* tokens = reinterpret_cast<TokenId*>(tokens_.sized(ops_, rows));
  ops_.pick_tokens({row_tokens_, {}, nullptr, tokens});
  float* hidden = hidden_.sized(ops_, int64_t{rows} * c.hidden);
  ops_.gather(states, rows_, c.hidden, hidden);
  ops_.rms_norm({hidden, target_->final_norm.for_ops(), hidden, rows, c.hidden, c.rms_eps, 1.0f});
  keep_newest(places, run(places, tokens, hidden));
}

float* MtpForward::run(std::span<const Place> places, const TokenId* tokens, const float* states) {
  const QwenConfig& c = target_->config;
  spans_.clear();
  s_.rope.clear();
  int32_t rows = 0;
  for (const Place& place : places) {
    spans_.push_back({rows, place.count, place.pos, place.kv->pages(kv_layer_)});
    for (int32_t i = 0; i < place.count; ++i) s_.rope.add(place.pos + i);
    rows += place.count;
  }
  const int64_t floats = int64_t{rows} * c.hidden;
  float* embedded = embedded_.sized(ops_, 2 * floats);
  float* normed = embedded + floats;
  ops_.embed(target_->embedding, tokens, rows, 1.0f, embedded);
  ops_.rms_norm({embedded, weights_->embedding_norm.for_ops(), embedded, rows, c.hidden, c.rms_eps, 1.0f});
  ops_.rms_norm({states, weights_->hidden_norm.for_ops(), normed, rows, c.hidden, c.rms_eps, 1.0f});
  float* joined = joined_.sized(ops_, 2 * floats);
  ops_.side_by_side(embedded, normed, rows, c.hidden, joined);
  float* x = x_.sized(ops_, floats);
  const kernels::Projection join{&weights_->join, x};
  ops_.linear(joined, rows, with_.act, {&join, 1});
  LayerRows layer_rows{rows, x, {}, spans_};
  layer_.run(layer_rows, shape_);
  return x;
}

void MtpForward::keep_newest(std::span<const Place> places, const float* x) {
  const QwenConfig& c = target_->config;
  int64_t row = -1;
  for (const Place& place : places) {
    row += place.count;
    float* newest = place.memory->newest.sized(ops_, c.hidden);
    ops_.rms_norm({x + row * c.hidden, weights_->final_norm.for_ops(), newest, 1, c.hidden, c.rms_eps, 1.0f});
  }
}

const TokenId* MtpForward::enqueue(std::span<const MtpAsk> asks) {
  const QwenConfig& c = target_->config;
  const auto count = static_cast<int32_t>(asks.size());
  const size_t deepest = deepest_of(asks);
  auto* drafts = reinterpret_cast<TokenId*>(drafts_.sized(ops_, static_cast<int64_t>(deepest) * count));
  float* hidden = hidden_.sized(ops_, int64_t{count} * c.hidden);
  const auto bytes = static_cast<size_t>(c.hidden) * sizeof(float);
  for (int32_t i = 0; i < count; ++i)
    ops_.copy(hidden + int64_t{i} * c.hidden, asks[static_cast<size_t>(i)].memory->newest.data(), bytes);
  float* logits = logits_.sized(ops_, int64_t{count} * c.vocab);
  std::vector<Place> places;
  for (size_t depth = 0; depth < deepest; ++depth) {
    TokenId* tokens = drafts + depth * asks.size();
    const kernels::Projection head{&target_->head, logits};
    ops_.linear(hidden, count, with_.act, {&head, 1});
    ops_.argmax(logits, count, c.vocab, tokens);
    if (depth + 1 == deepest) break;
    // Whoever wants no more is drafted for all the same, where it has room.
    places.clear();
    for (const MtpAsk& ask : asks) {
      const int32_t at = std::min(static_cast<int32_t>(depth), ask.kv->room() - 1);
      places.push_back({ask.memory, ask.kv, ask.memory->end + at, 1});
    }
    const float* x = run(places, tokens, hidden);
    ops_.rms_norm({x, weights_->final_norm.for_ops(), hidden, count, c.hidden, c.rms_eps, 1.0f});
  }
  return drafts;
}

void MtpForward::propose(std::span<const MtpAsk> asks) {
  const TokenId* drafts = enqueue(asks);
  const size_t bytes = deepest_of(asks) * asks.size() * sizeof(TokenId);
  const auto* host = static_cast<const TokenId*>(ops_.fetch(drafts, bytes, drafts_copy_));
  if (!ops_.wait().ok()) return;
  for (size_t i = 0; i < asks.size(); ++i)
    for (size_t depth = 0; depth < asks[i].out.size(); ++depth) asks[i].out[depth] = host[depth * asks.size() + i];
}

}  // namespace paceline::qwen
