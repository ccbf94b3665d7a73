// What an engine knows of its rounds, learnt over all its sequences: milliseconds by rows and context, and how often
// the drafter is right. Worth keeping from one run to the next.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "speculate/cost_curve.h"
#include "speculate/reading_worth.h"
#include "speculate/survival.h"

namespace paceline {

// Before anything is compared with a plain step.
inline constexpr int32_t kFirstPlainRounds = 2;

struct RoundCosts {
  CostCurve step{0.05};   // over rows: forward and choosing
  CostCurve draft{0.05};  // over drafts asked for
};

// Rounds of several sequences at once.
struct BatchCosts {
  CostCurve step{0.05};  // over all rows: forward and choosing
  CostCurve pass{0.05};  // over sequences: one draft for each of them
  int32_t rounds_since_plain = 0;
};

class StepCosts {
 public:
  // Longer contexts cost more; those that share a power of two are taken for alike.
  static constexpr int32_t kContexts = 10;
  static int32_t context_class(int32_t context);

  // Of rounds at about this context. Where nothing was timed yet, it starts from what the nearest shorter one says, or
  // else the nearest longer one.
  RoundCosts& at(int32_t context);

  // The same for several sequences, the longest of which is about so long. Starts from what at() says.
  BatchCosts& batch_at(int32_t context);

  [[nodiscard]] const std::optional<RoundCosts>& of_class(int32_t index) const {
    return by_context_[static_cast<size_t>(index)];
  }
  void set_class(int32_t index, const RoundCosts& costs) { by_context_[static_cast<size_t>(index)] = costs; }

  // The drafter's, over all sequences.
  Survival typical{0.6, 0.998};

  // Rounds before the first probe of a parked sequence: more after sequences in which no draft held.
  int32_t first_interval = kFirstProbe;
  static constexpr int32_t kFirstProbe = 4;

  // Rounds that it was asked in, those that came to nothing counting for more: beside others it has its turns first.
  int32_t tried = 0;

  // The most that its drafter can guess.
  int32_t deepest = kMaxDraftTokens - 1;

  // Its drafter reads along (Drafter::reads_along), and whether that is worth it; none: asking is all that it takes.
  bool reads_along = false;
  ReadingWorth reading;

  // What may be lost on rounds that only find out something, in plain steps: every round adds a little, and they pay
  // what they lose.
  double credit = 2;

  // Plain steps are timed anew while drafting, too: everything is compared with them.
  int32_t rounds_since_plain = 0;
  int32_t plain_interval = 16;

 private:
  std::array<std::optional<RoundCosts>, kContexts> by_context_;
  std::array<std::optional<BatchCosts>, kContexts> batch_by_context_;
};

}  // namespace paceline
