#include "speculate/dflash/dflash_forward.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "speculate/dflash/dflash_choice.h"
#include "speculate/dflash/dflash_context.h"
#include "speculate/dflash/dflash_scratch.h"

namespace paceline {
namespace {

std::vector<LayerState> states_of(const DflashConfig& config) {
  std::vector<LayerState> layers;
  for (const DflashLayerConfig& layer : config.layers) {
    const bool slides = layer.sliding && config.window > 0;
    layers.push_back({slides ? StateKind::draft_window : StateKind::draft_paged, config.kv_heads, config.head_dim});
  }
  return layers;
}

// The blocks of one call, layer after layer.
class BlockPass {
 public:
  BlockPass(const DflashAt& at, std::span<const DflashProposal> seqs) : at_(at), c_(at.c), s_(at.s), seqs_(seqs) {}

  void run() {
    place();
    embed();
    for (int32_t i = 0; i < c_.layer_count(); ++i) {
      attention(i);
      feed_forward(i);
    }
  }

 private:
  void place() {
    s_.spans.clear();
    s_.positions.clear();
    s_.block_rows.clear();
    s_.row_tokens.clear();
    for (const DflashProposal& seq : seqs_) {
      CHECK(seq.rows >= 1 && seq.wanted < seq.rows && seq.kv->room() >= seq.rows);
      s_.spans.push_back({static_cast<int32_t>(s_.positions.size()), seq.rows, seq.kv->length(), {}});
      s_.block_rows.push_back(seq.rows);
      for (int32_t i = 0; i < seq.rows; ++i) {
        s_.positions.push_back(seq.kv->length() + i);
        s_.row_tokens.push_back(i == 0 ? seq.newest : c_.mask);
      }
    }
    rows_ = static_cast<int32_t>(s_.positions.size());
    at_.rotate();
  }

  void embed() {
    const LentEnds ends = at_.target.weights()->lent_ends();
    auto* tokens = reinterpret_cast<TokenId*>(at_.sized(s_.tokens, rows_));
    at_.ops.pick_tokens({s_.row_tokens, {}, nullptr, tokens});
    const int64_t floats = int64_t{rows_} * c_.hidden;
    x_ = at_.sized(s_.x, floats);
    normed_ = at_.sized(s_.normed, floats);
    mixed_ = at_.sized(s_.mixed, floats);
    branch_ = at_.sized(s_.branch, floats);
    at_.ops.embed(*ends.embedding, tokens, rows_, c_.embedding_scale.value_or(ends.embedding_scale), x_);
  }

  // The last position that each row sees; none: its own.
  const int32_t* last_positions(const DflashLayerConfig& layer) {
    if (layer.causal) return nullptr;
    s_.last_pos.clear();
    for (const kernels::SeqSpan& span : s_.spans) {
      const int32_t end = span.first_pos + span.count;
      for (int32_t pos = span.first_pos; pos < end; ++pos)
        s_.last_pos.push_back(layer.sliding && c_.window > 0 ? std::min(end - 1, pos + c_.window - 1) : end - 1);
    }
    return s_.last_pos.data();
  }

  // What a sublayer reads: its input as it is, or convolved.
  const float* before(const DflashConv& conv) {
    if (c_.conv.taps == 0) return normed_;
    at_.linear(normed_, rows_, conv.projection, at_.sized(s_.kernels, int64_t{rows_} * conv.projection.rows));
    convolve(conv, 0, normed_, mixed_);
    return mixed_;
  }
  // What it adds, likewise.
  const float* after(const DflashConv& conv) {
    if (c_.conv.taps == 0) return branch_;
    convolve(conv, 1, branch_, mixed_);
    return mixed_;
  }
  void convolve(const DflashConv& conv, int64_t side, const float* from, float* to) {
    const int64_t own = int64_t{c_.conv.taps} * (c_.hidden / c_.conv.group);
    at_.ops.blocks()->block_conv({from, conv.base.for_ops() + side * c_.conv.taps * c_.hidden,
                                  s_.kernels.data() + side * own, to, 2 * own, c_.hidden, c_.conv.taps, c_.conv.group,
                                  s_.block_rows});
  }
  void add(const float* branch) { at_.ops.add_norm({x_, branch, nullptr, rows_, c_.hidden, c_.rms_eps, 1.0f}); }

  void attention(int32_t i) {
    const DflashLayer& l = at_.w.layers[static_cast<size_t>(i)];
    const DflashLayerConfig& layer = c_.layers[static_cast<size_t>(i)];
    at_.norm(x_, rows_, l.input_norm, normed_);
    const float* in = before(l.attention_conv);
    const int64_t queries = int64_t{rows_} * c_.heads * c_.head_dim, kv = int64_t{rows_} * c_.kv_heads * c_.head_dim;
    float *q = at_.sized(s_.q, queries), *k = at_.sized(s_.keys, kv), *v = at_.sized(s_.values, kv);
    const kernels::Projection out[] = {{&l.q, q}, {&l.k, k}, {&l.v, v}};
    at_.ops.linear(in, rows_, at_.act, out);
    at_.add_bias(q, rows_, l.q_bias);
    at_.add_bias(k, rows_, l.k_bias);
    at_.add_bias(v, rows_, l.v_bias);
    for (size_t seq = 0; seq < seqs_.size(); ++seq) s_.spans[seq].pages = seqs_[seq].kv->pages(at_.first_layer + i);
    kernels::HeadsArgs heads = at_.heads_of(i, c_.heads);
    heads.q = q;
    heads.k = k;
    heads.v = v;
    float* attended = at_.sized(s_.attended, queries);
    at_.ops.attend(heads,
                   {heads.shape, q, attended, layer.sliding ? c_.window : 0, true, s_.spans, last_positions(layer)});
    at_.linear(attended, rows_, l.o, branch_);
    at_.add_bias(branch_, rows_, l.o_bias);
    add(after(l.attention_conv));
  }

  void feed_forward(int32_t i) {
    const DflashLayer& l = at_.w.layers[static_cast<size_t>(i)];
    at_.norm(x_, rows_, l.post_attention_norm, normed_);
    const float* in = before(l.mlp_conv);
    float* wide = at_.sized(s_.ffn, int64_t{rows_} * c_.ffn);
    at_.ops.gated(in, rows_, at_.act, {&l.gate, &l.up, wide, kernels::GateFunction::silu});
    at_.linear(wide, rows_, l.down, branch_);
    add(after(l.mlp_conv));
  }

  const DflashAt& at_;
  const DflashConfig& c_;
  DflashScratch& s_;
  std::span<const DflashProposal> seqs_;
  int32_t rows_ = 0;
  float* x_ = nullptr;       // [rows, hidden]: the residual stream
  float* normed_ = nullptr;  // [rows, hidden]
  float* mixed_ = nullptr;   // [rows, hidden]: convolved
  float* branch_ = nullptr;  // [rows, hidden]: what is about to be added to x
};

}  // namespace

DflashForward::DflashForward(std::shared_ptr<const DflashWeights> weights, Forward& target, Arranged arranged)
    : read_(std::move(weights)),
      weights_(arranged == Arranged::now ? place_weights(read_, target.ops()) : read_),
      target_(target),
      frequencies_(rope_frequencies(config().rope_theta, config().head_dim, config().yarn)),
      scratch_(std::make_unique<DflashScratch>()) {
  CHECK(check_fits(config(), *target.weights()).ok() && target.ops().blocks() != nullptr);
  first_layer_ = target.add_draft_layers(states_of(config()), config().window);
  for (const int32_t layer : tapped_layers(config(), target.weights()->lent_ends().layers)) taps_.push_back(layer + 1);
}

DflashForward::~DflashForward() = default;

void DflashForward::load() { weights_ = place_weights(weights_, target_.ops()); }

void DflashForward::unload() {
  weights_ = read_;
  scratch_ = std::make_unique<DflashScratch>();
}

DflashAt DflashForward::at() {
  const auto act = target_.precision() == Precision::f32 ? kernels::Activation::f32 : kernels::Activation::bf16;
  return {*weights_, config(), target_, target_.ops(), act, first_layer_, frequencies_, *scratch_};
}

void DflashForward::remember(std::span<const DflashContextRows> rows, const Taps& taps) {
  remember_rows(at(), rows, taps);
}

void DflashForward::join(const Taps& taps, int32_t first_row, int32_t count, float* to) {
  join_rows(at(), taps, {nullptr, 0, first_row, count}, to);
}

void DflashForward::propose(std::span<const DflashProposal> seqs) {
  if (seqs.empty()) return;
  const DflashAt here = at();
  BlockPass(here, seqs).run();
  choose_drafts(here, seqs);
}

const TokenId* DflashForward::enqueue(std::span<const DflashProposal> seqs) {
  const DflashAt here = at();
  BlockPass(here, seqs).run();
  return enqueue_drafts(here, seqs);
}

const float* DflashForward::last_block() const { return scratch_->x.data(); }

Status check_backend(const DflashConfig& config, kernels::Ops& ops) {
  const auto name = [&] { return fmt::format("a {}", config.architecture); };
  if (ops.blocks() == nullptr)
    return Error{name() + ": this backend runs no drafters of whole blocks; use --draft ngram or an MTP drafter"};
  const kernels::Limits limits = ops.limits();
  if (config.head_dim % limits.head_step != 0)
    return Error{fmt::format("{} with heads of {} numbers: this backend takes multiples of {}", name(), config.head_dim,
                             limits.head_step)};
  if (config.selector.top > limits.candidates)
    return Error{fmt::format("{} with {} candidates for a draft: this backend takes at most {}", name(),
                             config.selector.top, limits.candidates)};
  return Done{};
}

}  // namespace paceline
