#include "speculate/dflash/dflash_choice.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace paceline {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

bool samples(const DflashProposal& seq) { return seq.sampling != nullptr && seq.sampling->temperature > 0; }

class Choice {
 public:
  Choice(const DflashAt& at, std::span<const DflashProposal> seqs)
      : at_(at), s_(at.s), seqs_(seqs), ends_(at.target.weights()->lent_ends()), vocab_(at.target.config().vocab) {}

  void run() {
    if (at_.ops.choosing() != nullptr) return fetch_drafts(enqueue());
    gather();
    if (rows_ == 0) return;
    const bool any_samples = std::any_of(seqs_.begin(), seqs_.end(), samples), selects = at_.c.selector.rank > 0;
    score(any_samples || selects);
    if (selects) return select();
    auto* best = best_rows();
    at_.ops.argmax(s_.logits.data(), rows_, vocab_, best);
    fetch_drafts(best);
    if (!any_samples) return;
    const float* logits = fetched(s_.logits, static_cast<size_t>(rows_) * vocab(), s_.logits_copy);
    if (!at_.ops.wait().ok()) return;
    for (const DflashProposal& seq : seqs_)
      for (int32_t i = 0; i < seq.wanted; ++i, logits += vocab_)
        if (samples(seq)) seq.drafts[i] = sampled(seq, i, {logits, vocab()});
  }

  const TokenId* enqueue() {
    gather();
    TokenId* best = best_rows();
    if (rows_ == 0) return best;
    const bool any_samples = std::any_of(seqs_.begin(), seqs_.end(), samples), selects = at_.c.selector.rank > 0;
    score(any_samples || selects);
    if (selects) {
      follow(best);
    } else if (any_samples) {
      choose(best);
    } else {
      at_.ops.argmax(s_.logits.data(), rows_, vocab_, best);
    }
    return best;
  }

 private:
  [[nodiscard]] size_t vocab() const { return static_cast<size_t>(vocab_); }
  const float* fetched(const kernels::RowBuffer& buffer, size_t floats, kernels::HostCopy& copy) const {
    return static_cast<const float*>(at_.ops.fetch(buffer.data(), floats * sizeof(float), copy));
  }

  TokenId* best_rows() { return reinterpret_cast<TokenId*>(at_.sized(s_.best, std::max(rows_, 1))); }

  void fetch_drafts(const TokenId* best) {
    if (rows_ == 0) return;
    const auto bytes = static_cast<size_t>(rows_) * sizeof(TokenId);
    const auto* host = static_cast<const TokenId*>(at_.ops.fetch(best, bytes, s_.best_copy));
    // After a fault any draft will do: the target's next step says what happened.
    if (!at_.ops.wait().ok()) return no_drafts();
    for (const DflashProposal& seq : seqs_) {
      std::copy_n(host, seq.wanted, seq.drafts);
      host += seq.wanted;
    }
  }

  // Row 0 of a block carries the newest token, and is not asked.
  void gather() {
    s_.wanted_rows.clear();
    int32_t first = 0;
    for (const DflashProposal& seq : seqs_) {
      for (int32_t i = 1; i <= seq.wanted; ++i) s_.wanted_rows.push_back(first + i);
      first += seq.rows;
    }
    rows_ = static_cast<int32_t>(s_.wanted_rows.size());
    if (rows_ == 0) return;
    float* rows = at_.sized(s_.head_rows, int64_t{rows_} * at_.c.hidden);
    at_.ops.gather(s_.x.data(), s_.wanted_rows, at_.c.hidden, rows);
  }

  // exact: as numbers, not only in their order, which no cap changes.
  void score(bool exact) {
    float* in = at_.sized(s_.head_in, int64_t{rows_} * at_.c.hidden);
    float* logits = at_.sized(s_.logits, int64_t{rows_} * vocab_);
    at_.norm(s_.head_rows.data(), rows_, at_.w.norm, in, at_.c.output_multiplier);
    at_.linear(in, rows_, *ends_.head, logits);
    const float cap = at_.c.softcap.value_or(ends_.softcap);
    if (exact && cap > 0) at_.ops.softcap(logits, cap, int64_t{rows_} * vocab_);
  }

  TokenId sampled(const DflashProposal& seq, int32_t draft, std::span<const float> logits) {
    return choose_draft(logits, *seq.sampling, seq.output_index + draft, s_.choose);
  }

  // By the backend, with the noise that the verify's choices will have. What depends on the text is left to those.
  void choose(TokenId* best) {
    s_.choices.clear();
    for (const DflashProposal& seq : seqs_)
      for (int32_t i = 0; i < seq.wanted; ++i) {
        kernels::ChoiceRow row;
        row.logits_row = static_cast<int32_t>(s_.choices.size());
        if (samples(seq)) {
          row.temperature = seq.sampling->temperature;
          row.top_k = seq.sampling->top_k;
          row.top_p = seq.sampling->top_p;
          row.min_p = seq.sampling->min_p;
          row.seed = seq.sampling->seed;
          row.index = static_cast<uint64_t>(seq.output_index + i);
        }
        s_.choices.push_back(row);
      }
    kernels::ChooseArgs args;
    args.logits = s_.logits.data();
    args.vocab = vocab_;
    args.rows = s_.choices;
    args.chosen = best;
    at_.ops.choosing()->choose(args);
  }

  void weigh() {
    if (at_.c.output_multiplier != 1.0f) at_.norm(s_.head_rows.data(), rows_, at_.w.norm, s_.head_in.data());
    at_.linear(s_.head_in.data(), rows_, at_.w.selector_projection,
               at_.sized(s_.weighed, int64_t{rows_} * at_.c.selector.rank));
  }

  // By the backend: the walk that select() is.
  void follow(TokenId* best) {
    weigh();
    s_.chains.clear();
    int32_t first = 0;
    for (const DflashProposal& seq : seqs_) {
      kernels::DraftChain chain{first, seq.wanted, seq.newest};
      if (samples(seq)) {
        chain.temperature = seq.sampling->temperature;
        chain.seed = seq.sampling->seed;
        chain.index = static_cast<uint64_t>(seq.output_index);
      }
      s_.chains.push_back(chain);
      first += seq.wanted;
    }
    at_.ops.choosing()->follow({s_.logits.data(), s_.weighed.data(), &at_.w.predecessors, &at_.w.successors, vocab_,
                                rows_, at_.c.selector.top, s_.chains, best});
  }

  // The best few of each row, best first; of equal ones the lower ids.
  void find_candidates(const float* logits) {
    const int32_t top = at_.c.selector.top;
    s_.candidates.clear();
    std::vector<TokenId> order(vocab());
    for (int64_t row = 0; row < rows_; ++row) {
      const float* mine = logits + row * vocab_;
      std::iota(order.begin(), order.end(), 0);
      std::partial_sort(order.begin(), order.begin() + top, order.end(),
                        [&](TokenId a, TokenId b) { return mine[a] != mine[b] ? mine[a] > mine[b] : a < b; });
      s_.candidates.insert(s_.candidates.end(), order.begin(), order.begin() + top);
    }
  }

  const float* rows_of(const Matrix& table, std::span<const TokenId> tokens, kernels::RowBuffer& buffer,
                       kernels::HostCopy& copy) {
    const auto count = static_cast<int32_t>(tokens.size());
    auto* picked = reinterpret_cast<TokenId*>(at_.sized(s_.picked, count));
    at_.ops.pick_tokens({tokens, {}, nullptr, picked});
    float* to = at_.sized(buffer, int64_t{count} * table.cols);
    at_.ops.embed(table, picked, count, 1.0f, to);
    return fetched(buffer, tokens.size() * static_cast<size_t>(table.cols), copy);
  }

  // Draft by draft: each candidate's own score, and how well it follows the draft before it.
  void select() {
    const auto rows = static_cast<size_t>(rows_);
    weigh();
    const float* logits = fetched(s_.logits, rows * vocab(), s_.logits_copy);
    const float* weighed = fetched(s_.weighed, rows * static_cast<size_t>(at_.c.selector.rank), s_.weighed_copy);
    if (!at_.ops.wait().ok()) return no_drafts();
    find_candidates(logits);
    const float* after = rows_of(at_.w.successors, s_.candidates, s_.after, s_.after_copy);
    // Who may stand before: any candidate, and behind them all the sequences' newest tokens.
    const size_t newest = s_.candidates.size();
    for (const DflashProposal& seq : seqs_) s_.candidates.push_back(seq.newest);
    const float* before = rows_of(at_.w.predecessors, s_.candidates, s_.before, s_.before_copy);
    if (!at_.ops.wait().ok()) return no_drafts();
    int64_t row = 0;
    for (size_t i = 0; i < seqs_.size(); ++i) {
      size_t previous = newest + i;
      for (int32_t d = 0; d < seqs_[i].wanted; ++d, ++row)
        previous = step(seqs_[i], d, row, {logits, weighed, before, after, previous});
    }
  }

  void no_drafts() {
    for (const DflashProposal& seq : seqs_) std::fill_n(seq.drafts, seq.wanted, TokenId{0});
  }

  struct Walk {
    const float *logits, *weighed, *before, *after;
    size_t previous;  // which of `before`
  };
  // The candidate that draft d is, by its place among all.
  size_t step(const DflashProposal& seq, int32_t d, int64_t row, const Walk& walk) {
    const auto rank = static_cast<size_t>(at_.c.selector.rank), top = static_cast<size_t>(at_.c.selector.top);
    const size_t first = static_cast<size_t>(row) * top;
    const float* w = walk.weighed + static_cast<size_t>(row) * rank;
    const float* p = walk.before + walk.previous * rank;
    const auto score = [&](size_t at) {
      float sum = 0;
      for (size_t r = 0; r < rank; ++r) sum += p[r] * w[r] * walk.after[at * rank + r];
      return walk.logits[row * vocab_ + s_.candidates[at]] + sum;
    };
    s_.candidate_row.resize(vocab(), kNever);
    size_t best = first;
    for (size_t at = first; at < first + top; ++at) {
      s_.candidate_row[static_cast<size_t>(s_.candidates[at])] = score(at);
      if (score(at) > score(best)) best = at;
    }
    if (samples(seq)) {
      const TokenId token = sampled(seq, d, s_.candidate_row);
      const auto begin = s_.candidates.begin() + static_cast<std::ptrdiff_t>(first);
      const auto found = std::find(begin, begin + static_cast<std::ptrdiff_t>(top), token);
      if (found != begin + static_cast<std::ptrdiff_t>(top)) best = static_cast<size_t>(found - s_.candidates.begin());
    }
    for (size_t at = first; at < first + top; ++at) s_.candidate_row[static_cast<size_t>(s_.candidates[at])] = kNever;
    seq.drafts[d] = s_.candidates[best];
    return best;
  }

  const DflashAt& at_;
  DflashScratch& s_;
  std::span<const DflashProposal> seqs_;
  const LentEnds ends_;
  const int32_t vocab_;
  int32_t rows_ = 0;  // whose drafts are wanted
};

}  // namespace

void choose_drafts(const DflashAt& at, std::span<const DflashProposal> seqs) { Choice(at, seqs).run(); }

const TokenId* enqueue_drafts(const DflashAt& at, std::span<const DflashProposal> seqs) {
  return Choice(at, seqs).enqueue();
}

}  // namespace paceline
