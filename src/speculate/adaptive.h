// Depth by the largest expected tokens per second: measured acceptance over measured cost, 0 included. A sequence that
// is better off without drafts is tried again at widening intervals.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "speculate/depth.h"
#include "speculate/step_costs.h"
#include "speculate/survival.h"

namespace paceline {

class AdaptiveDepth : public DepthPolicy {
 public:
  explicit AdaptiveDepth(StepCosts& costs, int32_t deepest = kMaxDraftTokens - 1);

  void reset() override;
  int32_t depth(int32_t context, int32_t most) override;
  void observe(const RoundReport& round) override;

  // For whoever decides between several drafters (routed_depth.h).
  void stand_at(int32_t context);
  [[nodiscard]] bool plain_is_due() const;
  struct Offer {
    int32_t depth = 0;      // 0: none is worth it
    double rate = 0;        // tokens per millisecond that it promises
    int32_t reachable = 0;  // the deepest that may be tried
    double plain_rate = 0;  // of rounds without drafts
  };
  [[nodiscard]] Offer offer(int32_t most) const;
  // Another depth than the chosen one that may beat this rate, for all that rounds have said; 0: none, or enough was
  // spent on finding out.
  [[nodiscard]] int32_t untried(int32_t reachable, int32_t chosen, double rate) const;
  // The round only finds something out: what it loses against rounds of this rate is paid.
  void spend(double rate) { paid_rate_ = rate; }
  [[nodiscard]] bool may_spend() const { return costs_.credit > 0; }
  [[nodiscard]] int32_t probe_depth(int32_t most) const { return best(1, reachable(most)); }
  // Tokens per second that are expected of rounds without drafts, with one, … as many as may be tried; for those who
  // look on.
  [[nodiscard]] std::vector<float> expected_rates(int32_t most) const;
  // What a round took that another drafted for, or nobody.
  void observe_step(const RoundReport& round);

  // For whoever decides over several sequences at once (batch_depth.h).
  [[nodiscard]] const Survival& survival() const { return survival_; }
  [[nodiscard]] int32_t deepest() const { return std::min(deepest_, costs_.deepest); }
  // The sequence gets no drafts. Or, now and then, some after all: to see whether they hold by now.
  int32_t park(int32_t probe_depth);
  // The sequence gets drafts: what comes later is no probe.
  void draft() {
    probing_ = false;
    start_intervals();
  }
  // What became of the drafts, whatever the round cost.
  void observe_drafts(const RoundReport& round);
  // What rounds of so many drafts must promise over plain steps.
  static double worth_it(double drafts);
  [[nodiscard]] DepthReason reason() const { return reason_; }

 private:
  [[nodiscard]] double tokens_per_ms(int32_t depth) const;
  [[nodiscard]] double hoped_per_ms(int32_t depth) const;
  void settle(const RoundReport& round);
  [[nodiscard]] int32_t best(int32_t least, int32_t most) const;
  [[nodiscard]] int32_t reachable(int32_t most) const;
  void start_intervals();
  void probed(bool accepted);

  StepCosts& costs_;
  RoundCosts* here_;  // of the context that the round stands at
  int32_t deepest_;
  Survival survival_;
  DepthReason reason_ = DepthReason::policy;
  bool probing_ = false;
  double paid_rate_ = 0;       // above 0: this round is paid for
  int32_t parked_rounds_ = 0;  // since the last probe
  int32_t interval_ = 0;       // rounds between probes, widening
  int32_t wait_ = 0;           // rounds until the next one: the interval, or less after a probe that succeeded
  int32_t follow_ups_ = 0;
  bool drafted_ = false, accepted_ = false;  // anything in this sequence
};

}  // namespace paceline
