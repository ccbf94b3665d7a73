#include "speculate/batch_depth.h"

#include <algorithm>

#include "base/check.h"

namespace paceline {
namespace {

// Steps between those without drafts, against which the others are compared.
constexpr int32_t kPlainInterval = 64;
// Parked sequences are probed some at a time, in one step of so many: a pass of drafting costs little more for several,
// and under one row in a hundred is a probe.
constexpr int64_t kProbeEvery = 16;
constexpr size_t kProbeShare = 8;
constexpr int32_t kProbeDepth = 1;
// Of what rows that never ran are thought to add, so much may be all that they do.
constexpr double kHopedShare = 0.3;
// Hence nobody owes for long what rounds of one sequence cost that found something out.
constexpr double kCreditPerStep = 0.02;

}  // namespace

BatchDepth::BatchDepth(std::span<StepCosts> costs, std::vector<bool> at_once, int32_t most_rows)
    : costs_(costs), at_once_(std::move(at_once)), most_rows_(most_rows), passes_(costs.size()), rates_(costs.size()) {
  CHECK(at_once_.size() == costs_.size());
}

// More rows never take less than a plain step's: where they seem to, that one was timed beside other programs.
double BatchDepth::step_ms(int32_t rows) const {
  if (row_ms_ == 0) return std::max(here(0).step.ms(rows), here(0).step.ms(plain_rows_));
  // One alone is timed apart from those that are several.
  const double plain = plain_rows_ == 1 ? costs_[0].at(longest_).step.ms(1) : here(0).step.ms(plain_rows_);
  return plain + row_ms_ * (rows - plain_rows_);
}

void BatchDepth::choose(std::span<DepthAsk> asks, const Beside& beside) {
  row_ms_ = beside.row_ms;
  if (asks.size() == 1 && row_ms_ == 0) {
    DepthAsk& ask = asks.front();
    ask.choice = ask.policy->choose(ask.context, ask.most);
    return;
  }
  if (row_ms_ == 0) ++steps_;
  longest_ = 0;
  for (DepthAsk& ask : asks) {
    ask.choice = {0, 0, DepthReason::timing};
    longest_ = std::max(longest_, ask.context);
  }
  plain_rows_ = static_cast<int32_t>(asks.size());
  const BatchCosts& first = here(0);
  if (row_ms_ == 0) {
    if (first.step.samples(plain_rows_) < kFirstPlainRounds || first.rounds_since_plain >= kPlainInterval) return;
    reachable_ = std::min(most_rows_, 2 * std::max(plain_rows_, first.step.largest_timed()));
  } else {
    if (step_ms(plain_rows_) == 0) return;
    reachable_ = std::min(most_rows_, plain_rows_ + beside.most_drafts);
  }
  if (costs_.size() > 1) pick_drafters(asks);
  share_out(asks);
  if (!try_all(asks)) park_rest(asks);
}

// What the sequence has room for, and the drafter can give.
int32_t BatchDepth::most_of(const DepthAsk& ask, int32_t which) {
  return std::min(ask.most, ask.policy->of(which).deepest());
}

// If all sequences drafted as this one does, at its best depth.
double BatchDepth::rate_for_all(const DepthAsk& ask, int32_t which, int32_t sequences) const {
  const BatchCosts& costs = here(static_cast<size_t>(which));
  const double pass = costs.pass.ms(sequences);
  double best = 0;
  const int32_t most = most_of(ask, which);
  for (int32_t depth = 1; depth <= most && sequences * (1 + depth) <= reachable_; ++depth) {
    const double drafting = at_once_[static_cast<size_t>(which)] ? pass : pass * depth;
    const double tokens = sequences * (1 + ask.policy->of(which).survival().expected(depth));
    best = std::max(best, tokens / (step_ms(sequences * (1 + depth)) + drafting));
  }
  return best;
}

void BatchDepth::pick_drafters(std::span<DepthAsk> asks) {
  const double plain = plain_rows_ / step_ms(plain_rows_);
  for (DepthAsk& ask : asks) {
    double best = -1;
    for (int32_t which = 0; which < ask.policy->count(); ++which) {
      rates_[static_cast<size_t>(which)] = 0;
      if (ask.policy->rests(which)) continue;
      const double rate = rate_for_all(ask, which, plain_rows_);
      rates_[static_cast<size_t>(which)] = rate;
      if (rate > best) ask.choice.by = which;
      best = std::max(best, rate);
    }
    if (best > 0) ask.policy->weigh(rates_, plain);
  }
}

// What one draft more of this sequence adds to the time of drafting.
double BatchDepth::pass_ms(const DepthAsk& ask) {
  const auto which = static_cast<size_t>(ask.choice.by);
  if (at_once_[which] && ask.choice.depth > 0) return 0;
  const auto pass = static_cast<size_t>(ask.choice.depth);
  std::vector<int32_t>& passes = passes_[which];
  if (passes.size() <= pass) passes.push_back(0);
  const CostCurve& curve = here(which).pass;
  const double before = passes[pass] > 0 ? curve.ms(passes[pass]) : 0;
  return curve.ms(++passes[pass]) - before;
}

// From no drafts on, always the likeliest next; the best of all the steps on the way.
void BatchDepth::share_out(std::span<DepthAsk> asks) {
  const auto plain_rows = static_cast<int32_t>(asks.size());
  const auto acceptance = [](const DepthAsk& ask) {
    return ask.policy->of(ask.choice.by).survival().acceptance(ask.choice.depth);
  };
  offers_.clear();
  taken_.clear();
  for (std::vector<int32_t>& passes : passes_) passes.clear();
  for (size_t i = 0; i < asks.size(); ++i) {
    if (asks[i].most > 0) offers_.push_back({acceptance(asks[i]), i});
  }
  std::make_heap(offers_.begin(), offers_.end());
  const double plain = plain_rows / step_ms(plain_rows);
  double tokens = plain_rows, drafting_ms = 0, best = plain;
  size_t best_taken = 0;
  while (!offers_.empty() && plain_rows + static_cast<int32_t>(taken_.size()) < reachable_) {
    std::pop_heap(offers_.begin(), offers_.end());
    const Offer offer = offers_.back();
    offers_.pop_back();
    DepthAsk& ask = asks[offer.ask];
    drafting_ms += pass_ms(ask);
    ++ask.choice.depth;
    taken_.push_back(offer.ask);
    tokens += offer.survival;
    const int32_t rows = plain_rows + static_cast<int32_t>(taken_.size());
    const double rate = tokens / (step_ms(rows) + drafting_ms);
    const double drafts = static_cast<double>(taken_.size()) / plain_rows;
    if (rate > best && rate > plain * AdaptiveDepth::worth_it(drafts)) {
      best = rate;
      best_taken = taken_.size();
    }
    if (ask.choice.depth < most_of(ask, ask.choice.by)) {
      offers_.push_back({offer.survival * acceptance(ask), offer.ask});
      std::push_heap(offers_.begin(), offers_.end());
    }
  }
  for (size_t i = best_taken; i < taken_.size(); ++i) --asks[taken_[i]].choice.depth;
}

// Where nobody drafts because more rows than were ever timed are thought too dear, all draft once: the line from fewer
// rows on may be far off (a mixture of experts reads most of them anyway by then).
bool BatchDepth::try_all(std::span<DepthAsk> asks) {
  if (row_ms_ > 0) return false;
  int32_t drafting = 0;
  size_t by = 0;
  double tokens = plain_rows_;
  for (const DepthAsk& ask : asks) {
    if (ask.choice.depth > 0) return false;
    if (most_of(ask, ask.choice.by) == 0) continue;
    if (drafting++ == 0) by = static_cast<size_t>(ask.choice.by);
    tokens += ask.policy->of(ask.choice.by).survival().acceptance(0);
  }
  const int32_t rows = plain_rows_ + drafting;
  if (drafting == 0 || rows > reachable_ || here(0).step.largest_ran() >= rows) return false;
  // Whoever had no guess then has none yet.
  if (rows <= tried_rows_ && steps_ - tried_at_ < kPlainInterval) return false;
  const double plain_ms = step_ms(plain_rows_), more_ms = step_ms(rows) - plain_ms;
  const double pass_ms = here(by).pass.ms(drafting), plain = plain_rows_ / plain_ms;
  if (tokens <= plain * AdaptiveDepth::worth_it(1) * (plain_ms + kHopedShare * more_ms + pass_ms)) return false;
  const double lost = (plain_ms + more_ms + pass_ms - tokens / plain) / plain_ms;
  if (lost > costs_[by].credit) return false;
  costs_[by].credit -= std::max(lost, 0.0);
  tried_rows_ = rows;
  tried_at_ = steps_;
  for (DepthAsk& ask : asks) {
    const bool may = most_of(ask, ask.choice.by) > 0;
    ask.choice = {ask.choice.by, may ? kProbeDepth : 0, may ? DepthReason::probe : DepthReason::request};
  }
  return true;
}

// Those without drafts, and drafters that others are preferred to, are tried now and then.
void BatchDepth::park_rest(std::span<DepthAsk> asks) {
  size_t probes = row_ms_ == 0 && steps_ % kProbeEvery == 0 ? (asks.size() + kProbeShare - 1) / kProbeShare : 0;
  for (DepthAsk& ask : asks) {
    const bool drafts = ask.choice.depth > 0;
    ask.choice.reason = drafts ? DepthReason::policy : DepthReason::parked;
    if (drafts) ask.policy->of(ask.choice.by).draft();
    const int32_t depth = std::min(kProbeDepth, ask.most);
    const int32_t due = ask.policy->due_besides(drafts ? ask.choice.by : -1, depth);
    if (ask.most == 0) ask.choice.reason = DepthReason::request;
    // One that is due waits for its turn.
    if (due < 0 || depth == 0 || probes == 0) continue;
    ask.choice = {due, depth, DepthReason::probe};
    --probes;
  }
}

void BatchDepth::observe(const BatchReport& report) {
  if (report.sequences < 2) return;
  const bool plain = report.rows == report.sequences;
  for (size_t which = 0; which < costs_.size(); ++which) {
    BatchCosts& here = costs_[which].batch_at(report.longest_context);
    if (costs_[which].credit <= 0) costs_[which].credit += kCreditPerStep;
    here.step.observe(report.rows, report.step_ms);
    here.rounds_since_plain = plain ? 0 : here.rounds_since_plain + 1;
    const DraftPasses& drafting = report.drafting[which];
    const std::vector<int32_t>& passes = drafting.sequences;
    double thought = 0;
    for (const int32_t pass : passes) thought += here.pass.ms(pass);
    for (size_t i = 0; i < passes.size(); ++i) {
      if (i > 0 && passes[i] == passes[i - 1]) continue;
      const double share = thought > 0 ? here.pass.ms(passes[i]) / thought : 1.0 / static_cast<double>(passes.size());
      here.pass.observe(passes[i], drafting.ms * share);
    }
  }
}

}  // namespace paceline
