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

  // The sequence may go without those that read along in vain lately: they are not told of what it writes, and not
  // asked. One always stays. They read its prompt, for others begin alike; where its output lies, pages that it leaves
  // hold zeros or older rows of theirs (never what nobody wrote), and fewer of their guesses hold for who goes on from
  // there.
  void let_rest();
  // The bits of those that do.
  [[nodiscard]] uint32_t resting() const { return resting_; }
  [[nodiscard]] bool rests(int32_t which) const { return (resting_ >> which & 1) != 0; }
  [[nodiscard]] int32_t first_awake() const;
  // What the sequence writes is wanted by somebody who reads along.
  [[nodiscard]] bool is_read() const;

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
  // Tokens per millisecond that a round promises with each of them, and without: what would be lost without each.
  void weigh(std::span<const double> rates, double plain);

 private:
  DepthChoice choose_alone(int32_t which, int32_t context, int32_t most);
  // Who was asked least of those that have not had their turns yet; negative: nobody.
  [[nodiscard]] int32_t on_trial() const;

  std::span<StepCosts> costs_;
  std::vector<std::unique_ptr<AdaptiveDepth>> each_;
  uint32_t resting_ = 0;
  std::vector<double> rates_;  // of a round
  std::vector<double> saved_;  // by each, in rounds
  int32_t weighed_ = 0;
};

}  // namespace paceline
