#include "proof/kv_check.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "model/forward.h"

namespace paceline {
namespace {

// Borders of buckets: at each power of four from here on.
constexpr int32_t kFirstBorder = 256;
constexpr int32_t kBorderFactor = 4;
// Rows of a forward whose logits are all wanted.
constexpr int32_t kRows = 64;

// log Σ exp
double log_sum(std::span<const float> logits) {
  const double top = static_cast<double>(*std::max_element(logits.begin(), logits.end()));
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - top);
  return top + std::log(sum);
}

TokenId first_choice(std::span<const float> logits) {
  return static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

// One way of keeping keys and values, and how far it has come in the text.
class Reader {
 public:
  Reader(const ModelWeights& weights, kernels::Ops& ops, Precision precision, const KvFormats& kv, int32_t longest)
      : forward_(weights.make_forward(ops, precision, kv)), kv_(forward_->kv_layout(), longest) {}

  void start() { kv_.truncate(0); }
  // Logits of all of these; valid until the next call.
  Result<const float*> read(std::span<const TokenId> tokens) {
    rows_.resize(tokens.size());
    std::iota(rows_.begin(), rows_.end(), 0);
    const SeqRows seq{&kv_, static_cast<int32_t>(tokens.size())};
    const ForwardOutput out = forward_->run({tokens, {&seq, 1}, rows_, {}});
    TRY(forward_->status());
    return out.logits;
  }

 private:
  std::unique_ptr<Forward> forward_;
  KvCache kv_;
  std::vector<int32_t> rows_;
};

class KvChecking {
 public:
  KvChecking(const ModelWeights& weights, kernels::Ops& ops, const KvCheckSettings& settings)
      : vocab_(static_cast<size_t>(weights.facts().vocab)),
        longest_(settings.longest > 0 ? std::min(settings.longest, weights.facts().context) : weights.facts().context),
        truth_(weights, ops, settings.precision, DType::f32, longest_),
        floor_(weights, ops, settings.precision, DType::bf16, longest_),
        asked_(weights, ops, settings.precision, settings.asked, longest_) {}

  Result<KvCheck> run(std::span<const TokenId> text) {
    for (size_t at = 0; at + 1 < text.size(); at += static_cast<size_t>(longest_))
      TRY(read_piece(text.subspan(at, std::min(static_cast<size_t>(longest_), text.size() - at))));
    std::erase_if(check_.buckets, [](const KvBucket& bucket) { return bucket.positions == 0; });
    return std::move(check_);
  }

 private:
  Status read_piece(std::span<const TokenId> piece) {
    for (Reader* reader : {&truth_, &floor_, &asked_}) reader->start();
    for (size_t at = 0; at < piece.size(); at += kRows) {
      const auto rows = piece.subspan(at, std::min<size_t>(kRows, piece.size() - at));
      TRY_ASSIGN(const float* truth, truth_.read(rows));
      TRY_ASSIGN(const float* floor, floor_.read(rows));
      TRY_ASSIGN(const float* asked, asked_.read(rows));
      for (size_t i = 0; i < rows.size() && at + i + 1 < piece.size(); ++i) {
        const auto row_of = [&](const float* logits) { return std::span(logits + i * vocab_, vocab_); };
        KvBucket& bucket = bucket_of(static_cast<int32_t>(at + i));
        const TokenId next = piece[at + i + 1];
        const double sum = log_sum(row_of(truth));
        ++bucket.positions;
        bucket.truth_surprisal += sum - static_cast<double>(row_of(truth)[static_cast<size_t>(next)]);
        add(bucket.floor, row_of(truth), sum, row_of(floor), next);
        add(bucket.asked, row_of(truth), sum, row_of(asked), next);
      }
    }
    return Done{};
  }

  static void add(KvDistance& to, std::span<const float> truth, double truth_sum, std::span<const float> other,
                  TokenId next) {
    const double sum = log_sum(other);
    for (size_t i = 0; i < truth.size(); ++i) {
      const double log_p = static_cast<double>(truth[i]) - truth_sum, log_q = static_cast<double>(other[i]) - sum;
      to.kl += std::exp(log_p) * (log_p - log_q);
    }
    to.kept += first_choice(truth) == first_choice(other) ? 1 : 0;
    to.surprisal += sum - static_cast<double>(other[static_cast<size_t>(next)]);
  }

  KvBucket& bucket_of(int32_t position) {
    size_t number = 0;
    int64_t border = kFirstBorder;
    for (; position >= border; border *= kBorderFactor) ++number;
    while (check_.buckets.size() <= number) {
      KvBucket bucket;
      if (!check_.buckets.empty()) bucket.first = std::max(kFirstBorder, check_.buckets.back().first * kBorderFactor);
      check_.buckets.push_back(bucket);
    }
    return check_.buckets[number];
  }

  const size_t vocab_;
  const int32_t longest_;
  Reader truth_, floor_, asked_;
  KvCheck check_;
};

}  // namespace

KvBucket KvCheck::all() const {
  KvBucket all;
  const auto add = [](KvDistance& to, const KvDistance& from) {
    to.kl += from.kl;
    to.kept += from.kept;
    to.surprisal += from.surprisal;
  };
  for (const KvBucket& bucket : buckets) {
    all.positions += bucket.positions;
    all.truth_surprisal += bucket.truth_surprisal;
    add(all.floor, bucket.floor);
    add(all.asked, bucket.asked);
  }
  return all;
}

Result<KvCheck> check_kv(const ModelWeights& weights, kernels::Ops& ops, std::span<const TokenId> text,
                         const KvCheckSettings& settings) {
  return KvChecking(weights, ops, settings).run(text);
}

}  // namespace paceline
