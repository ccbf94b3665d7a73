#include "speculate/routed_depth.h"

#include "base/check.h"

namespace paceline {

RoutedDepth::RoutedDepth(std::span<StepCosts> costs, int32_t deepest) {
  CHECK(!costs.empty());
  for (StepCosts& one : costs) each_.push_back(std::make_unique<AdaptiveDepth>(one, deepest));
}

void RoutedDepth::reset() {
  for (const auto& one : each_) one->reset();
}

int32_t RoutedDepth::due_besides(int32_t drafting, int32_t probe_depth) {
  int32_t due = -1;
  for (int32_t which = 0; which < count(); ++which)
    if (which != drafting && of(which).park(probe_depth) > 0 && due < 0 && (drafting < 0 || of(which).may_spend()))
      due = which;
  return due;
}

DepthChoice RoutedDepth::choose(int32_t context, int32_t most) {
  if (count() == 1) {
    const int32_t depth = of(0).depth(context, most);
    return {0, depth, of(0).reason()};
  }
  for (const auto& one : each_) one->stand_at(context);
  if (of(0).plain_is_due()) return {0, 0, DepthReason::timing};
  DepthChoice best;
  double best_rate = 0;
  bool may_draft = false;
  for (int32_t which = 0; which < count(); ++which) {
    const AdaptiveDepth::Offer offer = of(which).offer(most);
    may_draft = may_draft || offer.reachable > 0;
    if (offer.depth == 0 || offer.rate <= best_rate) continue;
    best = {which, offer.depth, DepthReason::policy};
    best_rate = offer.rate;
  }
  if (!may_draft) return {0, 0, DepthReason::request};
  const double rate = best.depth > 0 ? best_rate : of(0).offer(most).plain_rate;
  const int32_t due = due_besides(best.depth > 0 ? best.by : -1, 1);
  if (due >= 0) {
    if (best.depth > 0) of(due).spend(rate);
    return {due, of(due).probe_depth(most), DepthReason::probe};
  }
  for (int32_t which = 0; which < count(); ++which) {
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
  for (int32_t which = 0; which < count(); ++which)
    which == round.by ? of(which).observe(round) : of(which).observe_step(round);
}

}  // namespace paceline
