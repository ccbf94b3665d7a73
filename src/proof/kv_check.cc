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
        truth_(weights, ops, settings.precision, DType::f32, longest_) {
    for (const KvWay& way : settings.ways)
      ways_.push_back(std::make_unique<Reader>(weights, way.ops != nullptr ? *way.ops : ops, settings.precision,
                                               way.formats, longest_));
  }

  Result<KvCheck> run(std::span<const TokenId> text) {
    for (size_t at = 0; at + 1 < text.size(); at += static_cast<size_t>(longest_))
      TRY(read_piece(text.subspan(at, std::min(static_cast<size_t>(longest_), text.size() - at))));
    std::erase_if(check_.buckets, [](const KvBucket& bucket) { return bucket.positions == 0; });
    return std::move(check_);
  }

 private:
  Status read_piece(std::span<const TokenId> piece) {
    truth_.start();
    for (const auto& way : ways_) way->start();
    for (size_t at = 0; at < piece.size(); at += kRows) {
      const auto rows = piece.subspan(at, std::min<size_t>(kRows, piece.size() - at));
      TRY_ASSIGN(const float* truth, truth_.read(rows));
      std::vector<const float*> others;
      for (const auto& way : ways_) {
        TRY_ASSIGN(const float* logits, way->read(rows));
        others.push_back(logits);
      }
      for (size_t i = 0; i < rows.size() && at + i + 1 < piece.size(); ++i) {
        const auto row_of = [&](const float* logits) { return std::span(logits + i * vocab_, vocab_); };
        KvBucket& bucket = bucket_of(static_cast<int32_t>(at + i));
        const TokenId next = piece[at + i + 1];
        const double sum = log_sum(row_of(truth));
        ++bucket.positions;
        bucket.truth_surprisal += sum - static_cast<double>(row_of(truth)[static_cast<size_t>(next)]);
        for (size_t way = 0; way < others.size(); ++way)
          add(bucket.ways[way], row_of(truth), sum, row_of(others[way]), next);
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
      bucket.ways.resize(ways_.size());
      if (!check_.buckets.empty()) bucket.first = std::max(kFirstBorder, check_.buckets.back().first * kBorderFactor);
      check_.buckets.push_back(bucket);
    }
    return check_.buckets[number];
  }

  const size_t vocab_;
  const int32_t longest_;
  Reader truth_;
  std::vector<std::unique_ptr<Reader>> ways_;
  KvCheck check_;
};

}  // namespace

double KvBucket::perplexity(size_t way) const { return std::exp(per_position(ways[way].surprisal)); }
double KvBucket::truth_perplexity() const { return std::exp(per_position(truth_surprisal)); }

KvBucket KvCheck::all() const {
  KvBucket all;
  for (const KvBucket& bucket : buckets) {
    all.positions += bucket.positions;
    all.truth_surprisal += bucket.truth_surprisal;
    all.ways.resize(bucket.ways.size());
    for (size_t way = 0; way < bucket.ways.size(); ++way) {
      all.ways[way].kl += bucket.ways[way].kl;
      all.ways[way].kept += bucket.ways[way].kept;
      all.ways[way].surprisal += bucket.ways[way].surprisal;
    }
  }
  return all;
}

Result<KvCheck> check_kv(const ModelWeights& weights, kernels::Ops& ops, std::span<const TokenId> text,
                         const KvCheckSettings& settings) {
  return KvChecking(weights, ops, settings).run(text);
}

}  // namespace paceline
