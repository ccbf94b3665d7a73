#include "model/mtp_drafter.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "base/check.h"
#include "kernels/row_buffer.h"
#include "model/mtp_binding.h"
#include "model/place.h"
#include "model/rope.h"

namespace paceline {

using kernels::Activation;
using kernels::Projection;
using kernels::RowBuffer;

static_assert(kMtpQueryOffset == 0 || kMtpQueryOffset == -1, "attention ends below a row's position or at it");

// Row buffers, [sequences, …] each, grown to what calls need.
struct MtpDrafter::Scratch {
  RowBuffer hidden, embedded, joined, x, normed, q, attended, branch, ffn, scores, cluster_scores, chosen;
  kernels::HostCopy chosen_copy, scores_copy, cluster_copy;
  std::vector<TokenId> tokens;
  std::vector<size_t> order;  // of the sequences, deepest first
  std::vector<int32_t> best;  // clusters
  RopeRows rope_sliding, rope_global;
  std::vector<kernels::SeqSpan> sliding, global;  // the same rows, with the pages that layers of each kind read
};

namespace {

constexpr float kNothing = -std::numeric_limits<float>::infinity();

// The `count` largest of scores in any order; of equal ones the first.
void largest_of(float* scores, int32_t all, int32_t count, std::vector<int32_t>& best) {
  std::replace_if(
      scores, scores + all, [](float s) { return std::isnan(s); }, kNothing);
  best.resize(static_cast<size_t>(all));
  std::iota(best.begin(), best.end(), 0);
  std::nth_element(best.begin(), best.begin() + (count - 1), best.end(),
                   [&](int32_t a, int32_t b) { return scores[a] != scores[b] ? scores[a] > scores[b] : a < b; });
  best.resize(static_cast<size_t>(count));
}

}  // namespace

// One call's drafts, token after token, for all its sequences.
class MtpPass {
 public:
  MtpPass(const MtpWeights& weights, const TextWeights& target, kernels::Ops& ops, Precision precision,
          MtpDrafter::Scratch& scratch, std::span<const MtpProposal> seqs)
      : w_(weights),
        c_(weights.config.text),
        backbone_(weights.config.backbone_hidden),
        target_(target),
        ops_(ops),
        precision_(precision),
        act_(precision == Precision::f32 ? Activation::f32 : Activation::bf16),
        s_(scratch),
        seqs_(seqs) {}

  void run() {
    place_rows();
    for (int32_t drafted = 0;; ++drafted) {
      // Rows stand deepest first, so those that still draft are the first ones.
      while (rows_ > 0 && seq_of(rows_ - 1).depth <= drafted) --rows_;
      if (rows_ == 0) return;
      join();
      for (int32_t i = 0; i < c_.layer_count(); ++i) {
        attention(i);
        feed_forward(i);
      }
      choose(seq_of(0).depth > drafted + 1);
      for (int32_t row = 0; row < rows_; ++row) seq_of(row).drafts[drafted] = s_.tokens[static_cast<size_t>(row)];
    }
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
    s_.tokens.clear();
    float* hidden = sized(s_.hidden, static_cast<int64_t>(rows_) * backbone_);
    const int32_t sliding_layer = mtp_source_layer(target_.config, LayerKind::sliding);
    const int32_t global_layer = mtp_source_layer(target_.config, LayerKind::global);
    for (int32_t row = 0; row < rows_; ++row) {
      const MtpContext& at = seq_of(row).at;
      CHECK(at.kv->length() >= 1 && at.kv->layout().dtype == kv_dtype());
      // The same for every draft of the proposal.
      const int32_t pos = at.kv->length() + kMtpQueryOffset;
      s_.rope_sliding.add(pos);
      s_.rope_global.add(pos);
      if (sliding_layer >= 0) s_.sliding.push_back({row, 1, pos, at.kv->pages(sliding_layer)});
      if (global_layer >= 0) s_.global.push_back({row, 1, pos, at.kv->pages(global_layer)});
      s_.tokens.push_back(at.newest);
      ops_.upload(hidden + static_cast<int64_t>(row) * backbone_, at.hidden,
                  static_cast<size_t>(backbone_) * sizeof(float));
    }
  }

  [[nodiscard]] DType kv_dtype() const { return precision_ == Precision::f32 ? DType::f32 : DType::bf16; }

  // x = pre_projection(the target's embedding of the token, hidden state)
  void join() {
    float* embedded = sized(s_.embedded, static_cast<int64_t>(rows_) * backbone_);
    float* joined = sized(s_.joined, int64_t{2} * rows_ * backbone_);
    const auto tokens = std::span<const TokenId>(s_.tokens).first(static_cast<size_t>(rows_));
    ops_.embed(target_.embedding, tokens, embedding_scale(backbone_, precision_), embedded);
    const size_t bytes = static_cast<size_t>(backbone_) * sizeof(float);
    for (int64_t row = 0; row < rows_; ++row) {
      ops_.copy(joined + 2 * row * backbone_, embedded + row * backbone_, bytes);
      ops_.copy(joined + (2 * row + 1) * backbone_, s_.hidden.data() + row * backbone_, bytes);
    }
    x_ = sized(s_.x, static_cast<int64_t>(rows_) * c_.hidden);
    normed_ = sized(s_.normed, static_cast<int64_t>(rows_) * c_.hidden);
    branch_ = sized(s_.branch, static_cast<int64_t>(rows_) * c_.hidden);
    linear(joined, w_.pre_projection, x_);
  }

  void attention(int32_t i) {
    const LayerWeights& l = w_.layers[static_cast<size_t>(i)];
    const LayerConfig& lc = c_.layers[static_cast<size_t>(i)];
    const bool sliding = lc.kind == LayerKind::sliding;
    const kernels::HeadShape shape{c_.heads, lc.kv_heads, lc.head_dim, kv_dtype()};
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
    heads.cos = rope.cos;
    heads.sin = rope.sin;
    heads.eps = c_.rms_eps;
    heads.seqs = std::span(sliding ? s_.sliding : s_.global).first(static_cast<size_t>(rows_));

    kernels::AttentionArgs args;
    args.shape = shape;
    args.q = q;
    args.out = sized(s_.attended, width);
    args.window = sliding ? c_.window : 0;
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
    ops_.gated(normed_, rows_, act_, l.gate, l.up, wide);
    linear(wide, l.down, branch_);
    ops_.add_norm({x_, branch_, l.post_ffn_norm.for_ops(), rows_, c_.hidden, c_.rms_eps, l.layer_scalar});
  }

  // Every row's next token and, where more are wanted, the hidden state that the one after it starts from.
  void choose(bool more) {
    norm(x_, w_.final_norm, normed_);
    if (more) linear(normed_, w_.post_projection, s_.hidden.data());
    const Matrix& first = w_.centroids.present() ? w_.centroids : w_.head;
    float* scores = sized(s_.scores, static_cast<int64_t>(rows_) * first.rows);
    linear(normed_, first, scores);
    if (w_.centroids.present()) {
      choose_in_clusters(scores);
      return;
    }
    auto* chosen = reinterpret_cast<TokenId*>(sized(s_.chosen, rows_));
    ops_.argmax(scores, rows_, c_.vocab, chosen);
    const auto* host =
        static_cast<const TokenId*>(ops_.fetch(chosen, static_cast<size_t>(rows_) * sizeof(TokenId), s_.chosen_copy));
    if (!ops_.wait().ok()) return give_up();
    std::copy(host, host + rows_, s_.tokens.begin());
  }

  // After a fault any draft will do: the target's next step says what happened.
  void give_up() { std::fill(s_.tokens.begin(), s_.tokens.begin() + rows_, TokenId{0}); }

  void choose_in_clusters(const float* centroid_scores) {
    const int32_t count = w_.config.centroid_top_k, size = w_.cluster_size(), centroids = w_.config.centroids;
    const size_t bytes = static_cast<size_t>(rows_) * static_cast<size_t>(centroids) * sizeof(float);
    const auto* host = static_cast<const float*>(ops_.fetch(centroid_scores, bytes, s_.scores_copy));
    if (!ops_.wait().ok()) return give_up();
    const std::vector<float> all(host, host + static_cast<int64_t>(rows_) * centroids);
    for (int32_t row = 0; row < rows_; ++row) {
      std::vector<float> mine(all.begin() + static_cast<int64_t>(row) * centroids,
                              all.begin() + static_cast<int64_t>(row + 1) * centroids);
      largest_of(mine.data(), centroids, count, s_.best);
      float* scores = sized(s_.cluster_scores, static_cast<int64_t>(count) * size);
      score_clusters(row, scores);
      const auto* scored = static_cast<const float*>(
          ops_.fetch(scores, static_cast<size_t>(count) * static_cast<size_t>(size) * sizeof(float), s_.cluster_copy));
      if (!ops_.wait().ok()) return give_up();
      s_.tokens[static_cast<size_t>(row)] = best_token(scored);
    }
  }

  void score_clusters(int32_t row, float* scores) {
    const int32_t size = w_.cluster_size();
    Matrix clusters[kernels::kMaxProjections];
    Projection out[kernels::kMaxProjections];
    for (size_t done = 0; done < s_.best.size();) {
      const size_t some = std::min(s_.best.size() - done, kernels::kMaxProjections);
      for (size_t i = 0; i < some; ++i) {
        clusters[i] = w_.clusters.at(s_.best[done + i]);
        out[i] = {&clusters[i], scores + static_cast<int64_t>(done + i) * size};
      }
      ops_.linear(normed_ + static_cast<int64_t>(row) * c_.hidden, 1, act_, {out, some});
      done += some;
    }
  }

  // Of equal ones the lowest id, as where every token is scored.
  [[nodiscard]] TokenId best_token(const float* scores) const {
    const int32_t size = w_.cluster_size();
    float top = kNothing;
    TokenId token = std::numeric_limits<TokenId>::max();
    for (size_t i = 0; i < s_.best.size(); ++i) {
      const TokenId* tokens = w_.cluster_tokens.data() + static_cast<int64_t>(s_.best[i]) * size;
      const float* mine = scores + static_cast<int64_t>(i) * size;
      for (int32_t t = 0; t < size; ++t) {
        if (!(mine[t] >= top) || (mine[t] == top && tokens[t] > token)) continue;
        top = mine[t];
        token = tokens[t];
      }
    }
    // Nothing was a number.
    return token == std::numeric_limits<TokenId>::max() ? 0 : token;
  }

  const MtpWeights& w_;
  const ModelConfig& c_;
  const int32_t backbone_;
  const TextWeights& target_;
  kernels::Ops& ops_;
  const Precision precision_;
  const Activation act_;
  MtpDrafter::Scratch& s_;
  std::span<const MtpProposal> seqs_;
  int32_t rows_ = 0;
  float* x_ = nullptr;       // [rows, hidden]: the residual stream
  float* normed_ = nullptr;  // [rows, hidden]
  float* branch_ = nullptr;  // [rows, hidden]: what is about to be added to x
};

MtpDrafter::MtpDrafter(std::shared_ptr<const MtpWeights> weights, std::shared_ptr<const TextWeights> target,
                       kernels::Ops& ops, Precision precision)
    : weights_(place_weights(std::move(weights), ops)),
      target_(std::move(target)),
      ops_(ops),
      precision_(precision),
      scratch_(std::make_unique<Scratch>()) {
  CHECK(check_fits(weights_->config, target_->config).ok());
}

MtpDrafter::~MtpDrafter() = default;

void MtpDrafter::propose(const MtpContext& at, int32_t depth, TokenId* drafts) {
  const MtpProposal alone{at, depth, drafts};
  propose({&alone, 1});
}

void MtpDrafter::propose(std::span<const MtpProposal> seqs) {
  MtpPass(*weights_, *target_, ops_, precision_, *scratch_, seqs).run();
}

}  // namespace paceline
