// Depth by the largest expected tokens per second: measured acceptance over measured cost, 0 included. A sequence that
// is better off without drafts is tried again at widening intervals.
#pragma once

#include <cstdint>

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

 private:
  [[nodiscard]] double tokens_per_ms(int32_t depth) const;
  [[nodiscard]] int32_t best(int32_t least, int32_t most) const;
  [[nodiscard]] int32_t reachable(int32_t most) const;
  int32_t parked(int32_t most);
  void start_intervals();
  void probed(bool accepted);
  [[nodiscard]] bool plain_is_due() const;

  StepCosts& costs_;
  RoundCosts* here_;  // of the context that the round stands at
  int32_t deepest_;
  Survival survival_;
  bool probing_ = false;
  int32_t parked_rounds_ = 0;  // since the last probe
  int32_t interval_ = 0;       // rounds between probes, widening
  int32_t wait_ = 0;           // rounds until the next one: the interval, or less after a probe that succeeded
  int32_t follow_ups_ = 0;
  bool drafted_ = false, accepted_ = false;  // anything in this sequence
};

}  // namespace paceline
