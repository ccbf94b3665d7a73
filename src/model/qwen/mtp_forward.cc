#include "model/qwen/mtp_forward.h"

#include <algorithm>

#include "base/check.h"

namespace paceline::qwen {
namespace {

// What addresses of pages are multiples of, counted from the lowest piece.
constexpr size_t kGranule = 256;

size_t in_granules(size_t bytes) { return (bytes + kGranule - 1) / kGranule * kGranule; }

// As the target's own layers of attention have it.
kernels::HeadShape shape_like(const Forward& target, const QwenConfig& config) {
  for (const KvLayout::Layer& layer : target.kv_layout().layers)
    if (layer.kind == StateKind::paged) return layer.shape(config.heads);
  return {config.heads, config.kv_heads, config.head_dim, kv_dtype_of(target.precision()), 0};
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

MtpPages::Size MtpPages::size_of(const kernels::HeadShape& shape) {
  const kernels::KvPageBytes bytes = kernels::kv_page_bytes(shape);
  return {in_granules(bytes.keys) + in_granules(bytes.values), in_granules(bytes.keys)};
}

size_t MtpPages::bytes_for(const kernels::HeadShape& shape, int32_t positions, size_t unit_bytes) {
  const auto pages = static_cast<size_t>((int64_t{positions} + kernels::kPageTokens - 1) / kernels::kPageTokens);
  const size_t per_unit = unit_bytes / size_of(shape).bytes;
  return (per_unit == 0 ? 2 * pages : (pages + per_unit - 1) / per_unit) * unit_bytes;
}

void MtpPages::set_units(std::span<void* const> units, size_t unit_bytes, const kernels::HeadShape& shape) {
  if (units.size() == known_units_) return;
  known_units_ = units.size();
  const Size size = size_of(shape);
  const size_t per_unit = std::max<size_t>(1, unit_bytes / size.bytes);
  pieces_ = unit_bytes < size.bytes ? 2 : 1;
  CHECK(pieces_ == 1 || unit_bytes >= std::max(size.values_at, size.bytes - size.values_at));
  values_at_ = pieces_ == 1 ? size.values_at : 0;
  base_ = static_cast<std::byte*>(*std::min_element(units.begin(), units.end()));
  numbers_.clear();
  for (void* unit : units)
    for (size_t i = 0; i < per_unit; ++i)
      numbers_.push_back(
          static_cast<int32_t>(static_cast<size_t>(static_cast<std::byte*>(unit) + i * size.bytes - base_) / kGranule));
}

kernels::KvPages MtpPages::pages() const {
  kernels::KvPages pages;
  pages.numbers = numbers_.data();
  pages.keys = base_;
  pages.values = base_ + values_at_;
  pages.unit_bytes = kGranule;
  pages.block_units = pieces_;
  pages.value_unit = pieces_ - 1;
  return pages;
}

MtpForward::MtpForward(std::shared_ptr<const MtpWeights> weights, const Forward& target)
    : weights_(place_mtp(std::move(weights), target.ops())),
      target_(as_qwen(target.weights())),
      ops_(target.ops()),
      shape_(shape_like(target, target_->config)),
      unit_bytes_(target.kv_layout().blocks.unit_bytes),
      with_{ops_, activation_of(target), s_},
      layer_(target_->config, weights_->layer, target_->expert_scale, with_) {}

void MtpForward::read(std::span<const MtpRows> seqs, const float* states) {
  std::vector<Place> places;
  row_tokens_.clear();
  rows_.clear();
  for (const MtpRows& seq : seqs) {
    MtpMemory& memory = *seq.memory;
    // Behind rows that it was not shown it begins anew.
    if (seq.first_pos != memory.first_pos + memory.length) {
      memory.first_pos = seq.first_pos;
      memory.length = 0;
    }
    if (seq.count == 0) continue;
    CHECK(memory.length + seq.count <= memory.pages.room());
    places.push_back({&memory, memory.length, seq.count});
    row_tokens_.insert(row_tokens_.end(), seq.next.begin(), seq.next.end());
    for (int32_t i = 0; i < seq.count; ++i) rows_.push_back(seq.first_row + i);
    memory.length += seq.count;
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
    spans_.push_back({rows, place.count, place.at, place.memory->pages.pages()});
    for (int32_t i = 0; i < place.count; ++i) s_.rope.add(place.memory->first_pos + place.at + i);
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
      const int32_t at = ask.memory->length + static_cast<int32_t>(depth);
      places.push_back({ask.memory, std::min(at, ask.memory->pages.room() - 1), 1});
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
