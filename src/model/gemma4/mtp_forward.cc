#include "model/gemma4/mtp_forward.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "kernels/row_buffer.h"
#include "model/gemma4/gemma4_forward.h"
#include "model/gemma4/mtp_binding.h"
#include "model/gemma4/place.h"
#include "model/rope.h"
#include "sample/choose.h"

namespace paceline {

using kernels::Activation;
using kernels::Projection;
using kernels::RowBuffer;

static_assert(kMtpQueryOffset == 0 || kMtpQueryOffset == -1, "attention ends below a row's position or at it");

// Row buffers, [sequences, …] each, grown to what calls need.
struct MtpForward::Scratch {
  RowBuffer hidden, embedded, joined, x, normed, q, attended, branch, ffn, scores, newest, drafts;
  kernels::HostCopy drafts_copy;
  ChooseScratch choose;
  std::vector<TokenId> newest_tokens;
  std::vector<size_t> order;    // of the sequences, deepest first
  std::vector<int32_t> row_of;  // of each sequence: where it stands in that order
  RopeRows rope_sliding, rope_global;
  std::vector<kernels::SeqSpan> sliding, global;  // the same rows, with the pages that layers of each kind read
};

// One call's drafts, token after token, for all its sequences.
class MtpPass {
 public:
  MtpPass(const MtpWeights& weights, const Gemma4Weights& target, kernels::Ops& ops, Precision precision,
          MtpForward::Scratch& scratch)
      : w_(weights),
        c_(weights.config.text),
        backbone_(weights.config.backbone_hidden),
        target_(target),
        ops_(ops),
        precision_(precision),
        act_(precision == Precision::f32 ? Activation::f32 : Activation::bf16),
        s_(scratch) {}

  MtpDrafts run(std::span<const MtpProposal> seqs, int32_t global_window) {
    seqs_ = seqs;
    global_window_ = global_window;
    place_rows();
    const int32_t all = rows_, deepest = all > 0 ? seq_of(0).depth : 0;
    auto* drafts = reinterpret_cast<TokenId*>(sized(s_.drafts, std::max<int64_t>(1, int64_t{all} * deepest)));
    tokens_ = reinterpret_cast<const TokenId*>(s_.newest.data());
    for (int32_t drafted = 0; drafted < deepest; ++drafted) {
      // Rows stand deepest first, so those that still draft are the first ones.
      while (seq_of(rows_ - 1).depth <= drafted) --rows_;
      join();
      for (int32_t i = 0; i < c_.layer_count(); ++i) {
        attention(i);
        feed_forward(i);
      }
      choose(drafts + static_cast<int64_t>(drafted) * all, drafted, drafted + 1 < deepest);
      tokens_ = drafts + static_cast<int64_t>(drafted) * all;
    }
    return {drafts, all, s_.row_of};
  }

 private:
  [[nodiscard]] const MtpProposal& seq_of(int32_t row) const { return seqs_[s_.order[static_cast<size_t>(row)]]; }

  float* sized(RowBuffer& buffer, int64_t floats) { return buffer.sized(ops_, floats); }

  void norm(const float* x, const Vector& weight, float* y) {
    ops_.rms_norm({x, weight.for_ops(), y, rows_, c_.hidden, c_.rms_eps, 1.0f});
  }

  void linear(const float* x, const Matrix& weight, float* y) {
    const Projection out{&weight, y};
    ops_.linear(x, rows_, act_, {&out, 1});
  }

  void place_rows() {
    rows_ = static_cast<int32_t>(seqs_.size());
    s_.order.resize(seqs_.size());
    std::iota(s_.order.begin(), s_.order.end(), size_t{0});
    std::stable_sort(s_.order.begin(), s_.order.end(),
                     [&](size_t a, size_t b) { return seqs_[a].depth > seqs_[b].depth; });
    s_.rope_sliding.clear();
    s_.rope_global.clear();
    s_.sliding.clear();
    s_.global.clear();
    s_.newest_tokens.clear();
    s_.row_of.resize(seqs_.size());
    float* hidden = sized(s_.hidden, static_cast<int64_t>(rows_) * backbone_);
    const int32_t sliding_layer = mtp_source_layer(target_.config, LayerKind::sliding);
    const int32_t global_layer = mtp_source_layer(target_.config, LayerKind::global);
    for (int32_t row = 0; row < rows_; ++row) {
      const MtpContext& at = seq_of(row).at;
      CHECK(at.kv->length() >= 1);
      // The same for every draft of the proposal.
      const int32_t pos = at.kv->length() + kMtpQueryOffset;
      s_.rope_sliding.add(pos);
      s_.rope_global.add(pos);
      if (sliding_layer >= 0) s_.sliding.push_back({row, 1, pos, at.kv->pages(sliding_layer)});
      if (global_layer >= 0) s_.global.push_back({row, 1, pos, at.kv->pages(global_layer)});
      s_.newest_tokens.push_back(at.newest);
      s_.row_of[s_.order[static_cast<size_t>(row)]] = row;
      ops_.copy(hidden + static_cast<int64_t>(row) * backbone_, at.hidden,
                static_cast<size_t>(backbone_) * sizeof(float));
    }
    auto* newest = reinterpret_cast<TokenId*>(sized(s_.newest, std::max(1, rows_)));
    ops_.pick_tokens({s_.newest_tokens, {}, nullptr, newest});
  }

  // x = pre_projection(the target's embedding of the token, hidden state)
  void join() {
    float* embedded = sized(s_.embedded, static_cast<int64_t>(rows_) * backbone_);
    float* joined = sized(s_.joined, int64_t{2} * rows_ * backbone_);
    ops_.embed(target_.embedding, tokens_, rows_, embedding_scale(backbone_, precision_), embedded);
    ops_.side_by_side(embedded, s_.hidden.data(), rows_, backbone_, joined);
    x_ = sized(s_.x, static_cast<int64_t>(rows_) * c_.hidden);
    normed_ = sized(s_.normed, static_cast<int64_t>(rows_) * c_.hidden);
    branch_ = sized(s_.branch, static_cast<int64_t>(rows_) * c_.hidden);
    linear(joined, w_.pre_projection, x_);
  }

  void attention(int32_t i) {
    const LayerWeights& l = w_.layers[static_cast<size_t>(i)];
    const LayerConfig& lc = c_.layers[static_cast<size_t>(i)];
    const bool sliding = lc.kind == LayerKind::sliding;
    const int32_t source = mtp_source_layer(target_.config, lc.kind);
    const kernels::HeadShape shape = seq_of(0).at.kv->layout().layers[static_cast<size_t>(source)].shape(c_.heads);
    const int64_t width = static_cast<int64_t>(rows_) * c_.heads * lc.head_dim;
    float* q = sized(s_.q, width);
    norm(x_, l.input_norm, normed_);
    linear(normed_, l.q, q);

    const RopeTable rope = (sliding ? s_.rope_sliding : s_.rope_global)
                               .table(ops_, sliding ? c_.rope_sliding : c_.rope_global, lc.head_dim);
    kernels::HeadsArgs heads;
    heads.shape = shape;
    heads.q = q;
    heads.q_weight = l.q_norm.for_ops();
    heads.k_weight = target_.layers[static_cast<size_t>(source)].k_norm.for_ops();
    heads.cos = rope.cos;
    heads.sin = rope.sin;
    heads.eps = c_.rms_eps;
    heads.seqs = std::span(sliding ? s_.sliding : s_.global).first(static_cast<size_t>(rows_));

    kernels::AttentionArgs args;
    args.shape = shape;
    args.q = q;
    args.out = sized(s_.attended, width);
    args.window = sliding ? c_.window : global_window_;
    // The last key is that of the token before the newest.
    args.sees_self = kMtpQueryOffset == -1;
    args.seqs = heads.seqs;
    ops_.attend(heads, args);
    linear(args.out, l.o, branch_);
    ops_.add_norm({x_, branch_, l.post_attention_norm.for_ops(), rows_, c_.hidden, c_.rms_eps, 1.0f});
  }

  void feed_forward(int32_t i) {
    const LayerWeights& l = w_.layers[static_cast<size_t>(i)];
    float* wide = sized(s_.ffn, static_cast<int64_t>(rows_) * l.gate.rows);
    norm(x_, l.pre_ffn_norm, normed_);
    ops_.gated(normed_, rows_, act_, {&l.gate, &l.up, wide, kernels::GateFunction::gelu});
    linear(wide, l.down, branch_);
    ops_.add_norm({x_, branch_, l.post_ffn_norm.for_ops(), rows_, c_.hidden, c_.rms_eps, l.layer_scalar});
  }

  // Every row's next token and, where more are wanted, the hidden state that the one after it starts from.
  void choose(TokenId* best, int32_t drafted, bool more) {
    norm(x_, w_.final_norm, normed_);
    const bool clustered = w_.centroids.present();
    const Matrix& first = clustered ? w_.centroids : w_.head;
    float* scores = sized(s_.scores, static_cast<int64_t>(rows_) * first.rows);
    const Projection out[] = {{&first, scores}, {&w_.post_projection, s_.hidden.data()}};
    ops_.linear(normed_, rows_, act_, std::span(out).first(more ? 2 : 1));
    if (clustered) {
      ops_.best_of_clusters(
          {scores, &w_.clusters, w_.placed_cluster_tokens, normed_, rows_, w_.config.centroid_top_k, best}, act_);
    } else {
      ops_.argmax(scores, rows_, c_.vocab, best);
      if (ops_.choosing() == nullptr) sample(scores, drafted, best);
    }
  }

  // The host chooses, so that its memory is the backend's.
  void sample(const float* scores, int32_t drafted, TokenId* best) {
    for (int32_t row = 0; row < rows_; ++row) {
      const MtpProposal& seq = seq_of(row);
      if (seq.sampling == nullptr || seq.sampling->temperature <= 0) continue;
      const auto vocab = static_cast<size_t>(c_.vocab);
      const TokenId token = choose_draft({scores + static_cast<size_t>(row) * vocab, vocab}, *seq.sampling,
                                         seq.output_index + drafted, s_.choose);
      if (token != kNoChoice) best[row] = token;
    }
  }

  const MtpWeights& w_;
  const Gemma4Config& c_;
  const int32_t backbone_;
  const Gemma4Weights& target_;
  kernels::Ops& ops_;
  const Precision precision_;
  const Activation act_;
  MtpForward::Scratch& s_;
  std::span<const MtpProposal> seqs_;
  int32_t global_window_ = 0;
  int32_t rows_ = 0;
  const TokenId* tokens_ = nullptr;  // [rows]: the newest ones
  float* x_ = nullptr;               // [rows, hidden]: the residual stream
  float* normed_ = nullptr;          // [rows, hidden]
  float* branch_ = nullptr;          // [rows, hidden]: what is about to be added to x
};

MtpForward::MtpForward(std::shared_ptr<const MtpWeights> weights, std::shared_ptr<const Gemma4Weights> target,
                       kernels::Ops& ops, Precision precision)
    : weights_(place_weights(std::move(weights), ops)),
      target_(std::move(target)),
      ops_(ops),
      precision_(precision),
      scratch_(std::make_unique<Scratch>()) {
  CHECK(check_fits(weights_->config, target_->config).ok());
}

MtpForward::~MtpForward() = default;

void MtpForward::propose(const MtpContext& at, int32_t depth, TokenId* drafts) {
  const MtpProposal alone{at, depth, drafts};
  propose({&alone, 1});
}

MtpDrafts MtpForward::enqueue(std::span<const MtpProposal> seqs, int32_t window) {
  CHECK(window == 0 || narrows());
  return MtpPass(*weights_, *target_, ops_, precision_, *scratch_).run(seqs, window);
}

void MtpForward::propose(std::span<const MtpProposal> seqs, int32_t window) {
  const MtpDrafts drafts = enqueue(seqs, window);
  int32_t deepest = 0;
  for (const MtpProposal& seq : seqs) deepest = std::max(deepest, seq.depth);
  const size_t bytes = static_cast<size_t>(deepest) * static_cast<size_t>(drafts.stride) * sizeof(TokenId);
  if (bytes == 0) return;
  const auto* host = static_cast<const TokenId*>(ops_.fetch(drafts.tokens, bytes, scratch_->drafts_copy));
  // After a fault any draft will do: the target's next step says what happened.
  const bool known = ops_.wait().ok();
  for (size_t s = 0; s < seqs.size(); ++s)
    for (int32_t d = 0; d < seqs[s].depth; ++d) seqs[s].drafts[d] = known ? host[drafts.at(s, d)] : TokenId{0};
}

}  // namespace paceline
