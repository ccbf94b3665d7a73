// How often drafts hold, by position: a running estimate, for one sequence or for a drafter over all of them.
#pragma once

#include <array>
#include <cstdint>

#include "speculate/drafter.h"

namespace paceline {

class Survival {
 public:
  // `start`: how often a first draft is thought to hold before any was seen. `keep`: what a draft still counts for when
  // the next one is seen; the default remembers some fifty.
  explicit Survival(double start, double keep = 0.98) : start_(start), keep_(keep) {}

  // Of `judged` drafts in order the first `kept` held and, if there is one more, that one did not.
  void observe(int32_t kept, int32_t judged);
  // What was seen counts less against what will be: after a pause the text may be another one.
  void age(double keep);
  // Takes over what `other` knows, as if it had been seen in at most `drafts` drafts of each position.
  void start_from(const Survival& other, double drafts);

  // That a draft at `position` (from 0) holds if all before it did.
  [[nodiscard]] double acceptance(int32_t position) const;
  // Drafts of a proposal of `depth` that are expected to hold.
  [[nodiscard]] double expected(int32_t depth) const;
  // How many may hold, where `typical` has seen few drafts of a position.
  [[nodiscard]] double hoped(int32_t depth, const Survival& typical) const;

  struct Position {
    double held = 0, judged = 0;
  };
  using Positions = std::array<Position, kMaxDraftTokens>;
  // For keeping it elsewhere.
  [[nodiscard]] double start() const { return start_; }
  [[nodiscard]] const Positions& positions() const { return positions_; }
  void restore(double start, const Positions& positions) { start_ = start, positions_ = positions; }

 private:
  double start_, keep_;
  Positions positions_{};
};

}  // namespace paceline
