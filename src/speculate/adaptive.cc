#include "speculate/adaptive.h"

#include <algorithm>

namespace paceline {
namespace {

// What a new sequence takes over from the drafter's other texts, in drafts seen.
constexpr double kPriorDrafts = 8;
// 4 rounds, doubling to 512: a probe that costs as much as two plain steps stays under a half per cent of the time.
constexpr int32_t kLastInterval = 512;
// Of a drafter that is never right, many short texts in a row would else be probed too often.
constexpr int32_t kLongestFirst = 32;
// One that succeeds is soon followed by another, a few times: chance, or a text that became easy?
constexpr int32_t kFollowUps = 3;
// A probe finds a text that may have changed since: what was seen before counts half.
constexpr double kKeepAtProbe = 0.5;
// A proposer that had nothing to say has not been probed, unless asking took more than this share of a step.
constexpr double kFreeShare = 0.01;
// Of the time, what may be lost on finding out; and at most so many plain steps at once.
constexpr double kCreditShare = 0.003;
constexpr double kMostCredit = 2;

}  // namespace

// Less than half a per cent is within the errors of the estimates, and survival's add up with depth.
double AdaptiveDepth::worth_it(double drafts) { return 1 + 0.005 * (drafts + 3); }

AdaptiveDepth::AdaptiveDepth(StepCosts& costs, int32_t deepest)
    : costs_(costs), here_(&costs.at(0)), deepest_(deepest), survival_(costs.typical.start()) {
  AdaptiveDepth::reset();
}

void AdaptiveDepth::reset() {
  survival_.start_from(costs_.typical, kPriorDrafts);
  probing_ = false;
  if (accepted_) {
    costs_.first_interval = StepCosts::kFirstProbe;
  } else if (drafted_) {
    costs_.first_interval = std::min(2 * costs_.first_interval, kLongestFirst);
  }
  drafted_ = accepted_ = false;
  start_intervals();
}

void AdaptiveDepth::start_intervals() {
  parked_rounds_ = 0;
  interval_ = wait_ = costs_.first_interval;
  follow_ups_ = 0;
}

// More rows never take less than one: where they seem to, plain steps were timed beside other programs.
double AdaptiveDepth::tokens_per_ms(int32_t depth) const {
  const double step = std::max(here_->step.ms(depth + 1), here_->step.ms(1));
  const double cost = step + (depth > 0 ? here_->draft.ms(depth) : 0);
  return (1 + survival_.expected(depth)) / cost;
}

double AdaptiveDepth::hoped_per_ms(int32_t depth) const {
  const double step = std::max(here_->step.hoped_ms(depth + 1), here_->step.ms(1));
  return (1 + survival_.hoped(depth, costs_.typical)) / (step + here_->draft.hoped_ms(depth));
}

int32_t AdaptiveDepth::best(int32_t least, int32_t most) const {
  int32_t found = least;
  double rate = tokens_per_ms(least);
  for (int32_t depth = least + 1; depth <= most; ++depth) {
    const double other = tokens_per_ms(depth);
    if (other > rate) found = depth, rate = other;
  }
  return found;
}

// Not much deeper than what has been timed: 1, 3, 7, 15.
int32_t AdaptiveDepth::reachable(int32_t most) const {
  return std::min({most, deepest(), 2 * here_->step.largest_timed() - 1});
}

std::vector<float> AdaptiveDepth::expected_rates(int32_t most) const {
  std::vector<float> rates;
  for (int32_t depth = 0; depth <= std::max(0, reachable(most)); ++depth)
    rates.push_back(static_cast<float>(1e3 * tokens_per_ms(depth)));
  return rates;
}

void AdaptiveDepth::stand_at(int32_t context) {
  here_ = &costs_.at(context);
  probing_ = false;
  paid_rate_ = 0;
}

AdaptiveDepth::Offer AdaptiveDepth::offer(int32_t most) const {
  Offer offer;
  offer.reachable = reachable(most);
  offer.plain_rate = tokens_per_ms(0);
  if (offer.reachable <= 0) return offer;
  const int32_t found = best(0, offer.reachable);
  if (found == 0 || tokens_per_ms(found) <= worth_it(found) * tokens_per_ms(0)) return offer;
  offer.depth = found;
  offer.rate = tokens_per_ms(found);
  return offer;
}

int32_t AdaptiveDepth::untried(int32_t reachable, int32_t chosen, double rate) const {
  if (!may_spend()) return 0;
  reachable = std::min(reachable, 2 * best(1, reachable) + 1);
  int32_t found = 0;
  double most = rate;
  for (int32_t depth = 1; depth <= reachable; ++depth) {
    if (depth == chosen) continue;
    const double hoped = hoped_per_ms(depth);
    if (hoped <= most) continue;
    const double tokens = 1 + survival_.expected(depth);
    const double ms = tokens / (here_->step.ran(depth + 1) ? tokens_per_ms(depth) : hoped);
    if (ms - tokens / rate > costs_.credit * here_->step.ms(1)) continue;
    found = depth;
    most = hoped;
  }
  return found;
}

int32_t AdaptiveDepth::depth(int32_t context, int32_t most) {
  stand_at(context);
  reason_ = DepthReason::timing;
  if (plain_is_due()) return 0;
  const Offer found = offer(most);
  reason_ = DepthReason::request;
  if (found.reachable <= 0) return 0;
  const double rate = std::max(found.rate, found.plain_rate);
  if (const int32_t other = untried(found.reachable, found.depth, rate); other > 0) {
    reason_ = DepthReason::probe;
    spend(rate);
    return other;
  }
  if (found.depth == 0) return park(best(1, found.reachable));
  reason_ = DepthReason::policy;
  start_intervals();
  return found.depth;
}

bool AdaptiveDepth::plain_is_due() const {
  return here_->step.samples(1) < kFirstPlainRounds || costs_.rounds_since_plain >= costs_.plain_interval;
}

int32_t AdaptiveDepth::park(int32_t probe_depth) {
  probing_ = ++parked_rounds_ > wait_;
  reason_ = probing_ ? DepthReason::probe : DepthReason::parked;
  return probing_ ? probe_depth : 0;
}

void AdaptiveDepth::probed(bool accepted) {
  survival_.age(kKeepAtProbe);
  parked_rounds_ = 0;
  if (accepted && follow_ups_ < kFollowUps) {
    ++follow_ups_;
    wait_ = StepCosts::kFirstProbe;
    return;
  }
  follow_ups_ = 0;
  interval_ = std::min(2 * interval_, kLastInterval);
  wait_ = interval_;
}

void AdaptiveDepth::settle(const RoundReport& round) {
  const double plain_ms = here_->step.ms(1);
  if (plain_ms <= 0) return;
  // As they are believed to be: a stall is nobody's fault.
  const double steps =
      (here_->step.ms(round.drafted + 1) + (paid_rate_ > 0 ? here_->draft.ms(round.asked) : 0)) / plain_ms;
  double change = kCreditShare * steps;
  if (paid_rate_ > 0) change = (1 + round.accepted) / (paid_rate_ * plain_ms) - steps;
  costs_.credit = std::min(costs_.credit + std::max(change, -kMostCredit), kMostCredit);
}

void AdaptiveDepth::observe_step(const RoundReport& round) {
  here_->step.observe(round.drafted + 1, round.step_ms);
  ++costs_.rounds_since_plain;
  if (round.drafted == 0) {
    if (plain_is_due()) costs_.plain_interval = std::min(2 * costs_.plain_interval, kLastInterval);
    costs_.rounds_since_plain = 0;
  }
  settle(round);
}

void AdaptiveDepth::observe(const RoundReport& round) {
  if (round.asked > 0) here_->draft.observe(round.asked, round.draft_ms);
  observe_step(round);
  observe_drafts(round);
}

void AdaptiveDepth::observe_drafts(const RoundReport& round) {
  if (probing_ && (round.drafted > 0 || round.draft_ms > kFreeShare * round.step_ms)) {
    probed(round.accepted > 0);
  }
  const int32_t judged = round.cut ? round.accepted : round.drafted;
  if (round.drafted == 0) return;
  drafted_ = true;
  accepted_ = accepted_ || round.accepted > 0;
  survival_.observe(round.accepted, judged);
  costs_.typical.observe(round.accepted, judged);
}

}  // namespace paceline
