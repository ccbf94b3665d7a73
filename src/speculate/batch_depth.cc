#include "speculate/batch_depth.h"

#include <algorithm>

namespace paceline {
namespace {

// Steps between those without drafts, against which the others are compared.
constexpr int32_t kPlainInterval = 64;
// Parked sequences are probed some at a time, in one step of so many: a pass of drafting costs little more for several,
// and under one row in a hundred is a probe.
constexpr int64_t kProbeEvery = 16;
constexpr size_t kProbeShare = 8;
constexpr int32_t kProbeDepth = 1;

}  // namespace

void BatchDepth::choose(std::span<DepthAsk> asks) {
  if (asks.size() == 1) {
    DepthAsk& ask = asks.front();
    ask.depth = ask.policy->depth(ask.context, ask.most);
    ask.reason = ask.policy->reason();
    return;
  }
  ++steps_;
  int32_t longest = 0;
  for (DepthAsk& ask : asks) {
    ask.depth = 0;
    ask.reason = DepthReason::timing;
    longest = std::max(longest, ask.context);
  }
  const BatchCosts& here = costs_.batch_at(longest);
  const auto plain_rows = static_cast<int32_t>(asks.size());
  if (here.step.samples(plain_rows) < kFirstPlainRounds || here.rounds_since_plain >= kPlainInterval) return;
  share_out(asks, here);
  park_rest(asks);
}

// From no drafts on, always the likeliest next; the best of all the steps on the way.
void BatchDepth::share_out(std::span<DepthAsk> asks, const BatchCosts& here) {
  const auto plain_rows = static_cast<int32_t>(asks.size());
  const int32_t reachable = std::min(most_rows_, 2 * std::max(plain_rows, here.step.largest_timed()));
  offers_.clear();
  taken_.clear();
  passes_.clear();
  for (size_t i = 0; i < asks.size(); ++i) {
    if (asks[i].most > 0) offers_.push_back({asks[i].policy->survival().acceptance(0), i});
  }
  std::make_heap(offers_.begin(), offers_.end());
  const double plain = plain_rows / here.step.ms(plain_rows);
  double tokens = plain_rows, drafting_ms = 0, best = plain;
  size_t best_taken = 0;
  while (!offers_.empty() && plain_rows + static_cast<int32_t>(taken_.size()) < reachable) {
    std::pop_heap(offers_.begin(), offers_.end());
    const Offer offer = offers_.back();
    offers_.pop_back();
    DepthAsk& ask = asks[offer.ask];
    const auto pass = static_cast<size_t>(ask.depth);
    if (passes_.size() <= pass) passes_.push_back(0);
    if (passes_[pass] > 0) drafting_ms -= here.pass.ms(passes_[pass]);
    drafting_ms += here.pass.ms(++passes_[pass]);
    ++ask.depth;
    taken_.push_back(offer.ask);
    tokens += offer.survival;
    const int32_t rows = plain_rows + static_cast<int32_t>(taken_.size());
    const double rate = tokens / (here.step.ms(rows) + drafting_ms);
    const double drafts = static_cast<double>(taken_.size()) / plain_rows;
    if (rate > best && rate > plain * AdaptiveDepth::worth_it(drafts)) {
      best = rate;
      best_taken = taken_.size();
    }
    if (ask.depth < ask.most) {
      offers_.push_back({offer.survival * ask.policy->survival().acceptance(ask.depth), offer.ask});
      std::push_heap(offers_.begin(), offers_.end());
    }
  }
  for (size_t i = best_taken; i < taken_.size(); ++i) --asks[taken_[i]].depth;
}

void BatchDepth::park_rest(std::span<DepthAsk> asks) {
  size_t probes = steps_ % kProbeEvery == 0 ? (asks.size() + kProbeShare - 1) / kProbeShare : 0;
  for (DepthAsk& ask : asks) {
    ask.reason = DepthReason::policy;
    if (ask.depth > 0) {
      ask.policy->draft();
      continue;
    }
    const int32_t depth = ask.policy->park(std::min(kProbeDepth, ask.most));
    ask.reason = ask.policy->reason();
    if (ask.most == 0) ask.reason = DepthReason::request;
    if (depth == 0) continue;
    // One that is due waits for its turn.
    if (probes > 0) {
      ask.depth = depth;
      --probes;
    } else {
      ask.reason = DepthReason::parked;
    }
  }
}

void BatchDepth::observe(const BatchReport& report) {
  if (report.sequences < 2) return;
  BatchCosts& here = costs_.batch_at(report.longest_context);
  here.step.observe(report.rows, report.step_ms);
  here.rounds_since_plain = report.rows == report.sequences ? 0 : here.rounds_since_plain + 1;
  double thought = 0;
  for (const int32_t pass : report.passes) thought += here.pass.ms(pass);
  for (size_t i = 0; i < report.passes.size(); ++i) {
    const int32_t pass = report.passes[i];
    if (i > 0 && pass == report.passes[i - 1]) continue;
    const double share = thought > 0 ? here.pass.ms(pass) / thought : 1.0 / static_cast<double>(report.passes.size());
    here.pass.observe(pass, report.draft_ms * share);
  }
}

}  // namespace paceline
