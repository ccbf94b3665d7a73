#include "speculate/routed_depth.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace paceline {
namespace {

// Rounds that each drafter is asked in before any is preferred, where one of them reads along: whoever was lucky first
// would else draft on and on, for those that lose are tried too seldom to show soon that they are better. (A drafter
// beside lookups alone has no such rival, and a text that is the only one of its process has no time for it.)
constexpr int32_t kTurns = 24;
// One without a guess counts for so many of them, one without a hit for fewer.
constexpr int32_t kSilent = 6, kMissed = 2;

}  // namespace

RoutedDepth::RoutedDepth(std::span<StepCosts> costs, int32_t deepest)
    : costs_(costs), rates_(costs.size()), saved_(costs.size()) {
  CHECK(!costs.empty() && costs.size() <= 32);
  for (StepCosts& one : costs) each_.push_back(std::make_unique<AdaptiveDepth>(one, deepest));
}

void RoutedDepth::reset() {
  for (const auto& one : each_) one->reset();
  for (int32_t which = 0; which < count(); ++which) {
    const auto i = static_cast<size_t>(which);
    if (weighed_ > 0 && !rests(which)) costs_[i].reading.observe(saved_[i] / weighed_, weighed_);
    saved_[i] = 0;
  }
  weighed_ = 0;
  resting_ = 0;
}

// Only the one that saves least: two that are as good as each other save nothing, each beside the other, and both are
// worth much.
void RoutedDepth::let_rest() {
  int32_t least = -1;
  for (int32_t which = 0; which < count(); ++which) {
    const StepCosts& costs = costs_[static_cast<size_t>(which)];
    if (!costs.reads_along) continue;
    if (least < 0 || costs.reading.saved() < costs_[static_cast<size_t>(least)].reading.saved()) least = which;
  }
  if (least >= 0 && count() > 1 && costs_[static_cast<size_t>(least)].reading.rests_next())
    resting_ |= uint32_t{1} << least;
}

int32_t RoutedDepth::first_awake() const { return std::countr_one(resting_); }

bool RoutedDepth::is_read() const {
  for (int32_t which = 0; which < count(); ++which)
    if (costs_[static_cast<size_t>(which)].reads_along && !rests(which)) return true;
  return false;
}

void RoutedDepth::weigh(std::span<const double> rates, double plain) {
  ++weighed_;
  for (size_t which = 0; which < rates.size(); ++which) {
    double others = plain;
    for (size_t other = 0; other < rates.size(); ++other)
      if (other != which) others = std::max(others, rates[other]);
    if (rates[which] > others) saved_[which] += 1 - others / rates[which];
  }
}

int32_t RoutedDepth::due_besides(int32_t drafting, int32_t probe_depth) {
  int32_t due = -1;
  for (int32_t which = 0; which < count(); ++which)
    if (which != drafting && !rests(which) && of(which).park(probe_depth) > 0 && due < 0 &&
        (drafting < 0 || of(which).may_spend()))
      due = which;
  return due;
}

int32_t RoutedDepth::on_trial() const {
  int32_t found = -1, least = kTurns;
  if (!is_read()) return found;
  for (int32_t which = 0; which < count(); ++which) {
    const StepCosts& costs = costs_[static_cast<size_t>(which)];
    // What was kept from another run counts, too.
    const auto tried = std::max(costs.tried, static_cast<int32_t>(costs.typical.positions()[0].judged));
    if (rests(which) || tried >= least) continue;
    found = which;
    least = tried;
  }
  return found;
}

DepthChoice RoutedDepth::choose_alone(int32_t which, int32_t context, int32_t most) {
  const int32_t depth = of(which).depth(context, most);
  return {which, depth, of(which).reason()};
}

DepthChoice RoutedDepth::choose(int32_t context, int32_t most) {
  for (const auto& one : each_) one->stand_at(context);
  if (std::popcount(resting_) + 1 == count()) return choose_alone(first_awake(), context, most);
  if (of(0).plain_is_due()) return {0, 0, DepthReason::timing};
  DepthChoice best;
  double best_rate = 0;
  bool may_draft = false;
  for (int32_t which = 0; which < count(); ++which) {
    rates_[static_cast<size_t>(which)] = 0;
    if (rests(which)) continue;
    const AdaptiveDepth::Offer offer = of(which).offer(most);
    rates_[static_cast<size_t>(which)] = offer.rate;
    may_draft = may_draft || offer.reachable > 0;
    if (offer.depth == 0 || offer.rate <= best_rate) continue;
    best = {which, offer.depth, DepthReason::policy};
    best_rate = offer.rate;
  }
  if (!may_draft) return {0, 0, DepthReason::request};
  const double plain = of(0).offer(most).plain_rate, rate = best.depth > 0 ? best_rate : plain;
  weigh(rates_, plain);
  if (const int32_t which = on_trial(); which >= 0)
    if (const int32_t depth = of(which).probe_depth(most); depth > 0) return {which, depth, DepthReason::probe};
  const int32_t due = due_besides(best.depth > 0 ? best.by : -1, 1);
  if (due >= 0) {
    if (best.depth > 0) of(due).spend(rate);
    return {due, of(due).probe_depth(most), DepthReason::probe};
  }
  for (int32_t which = 0; which < count(); ++which) {
    if (rests(which)) continue;
    AdaptiveDepth& one = of(which);
    const int32_t depth = one.untried(one.offer(most).reachable, which == best.by ? best.depth : 0, rate);
    if (depth == 0) continue;
    one.spend(rate);
    return {which, depth, DepthReason::probe};
  }
  if (best.depth == 0) return {0, 0, DepthReason::parked};
  of(best.by).draft();
  return best;
}

void RoutedDepth::observe(const RoundReport& round) {
  if (int32_t& tried = costs_[static_cast<size_t>(round.by)].tried; round.asked > 0 && tried < kTurns)
    tried += round.drafted == 0 ? kSilent : round.accepted == 0 ? kMissed : 1;
  for (int32_t which = 0; which < count(); ++which)
    which == round.by ? of(which).observe(round) : of(which).observe_step(round);
}

}  // namespace paceline
