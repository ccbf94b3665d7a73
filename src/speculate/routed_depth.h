// For one sequence: which of several drafters, and how deep. Each has its own account of how often it is right and of
// what it takes; the largest expected tokens per second win, none included. Those that lose are tried again at widening
// intervals.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "speculate/adaptive.h"

namespace paceline {

struct DepthChoice {
  int32_t by = 0;  // who drafts
  int32_t depth = 0;
  DepthReason reason = DepthReason::policy;
};

class RoutedDepth {
 public:
  // costs: of each drafter.
  explicit RoutedDepth(std::span<StepCosts> costs, int32_t deepest = kMaxDraftTokens - 1);

  // What the sequence taught is taken over when the next one begins.
  void reset();
  DepthChoice choose(int32_t context, int32_t most);
  // What a round of this sequence alone took, and what became of its drafts.
  void observe(const RoundReport& round);

  [[nodiscard]] int32_t count() const { return static_cast<int32_t>(each_.size()); }
  [[nodiscard]] AdaptiveDepth& of(int32_t which) { return *each_[static_cast<size_t>(which)]; }
  [[nodiscard]] const AdaptiveDepth& of(int32_t which) const { return *each_[static_cast<size_t>(which)]; }
  // Another is tried than the one that drafts, or one though none does; negative: nobody is due. Depth: of the probe.
  int32_t due_besides(int32_t drafting, int32_t probe_depth);

 private:
  std::vector<std::unique_ptr<AdaptiveDepth>> each_;
};

}  // namespace paceline
