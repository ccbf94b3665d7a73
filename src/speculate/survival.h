// How often drafts hold, by position: a running estimate for one sequence.
#pragma once

#include <array>
#include <cstdint>

#include "speculate/proposer.h"

namespace paceline {

class Survival {
 public:
  // `start`: how often a first draft is thought to hold before any was seen.
  explicit Survival(double start) : start_(start) {}

  // Of `judged` drafts in order the first `kept` held and, if there is one more, that one did not.
  void observe(int32_t kept, int32_t judged);
  // What was seen counts less against what will be: after a pause the text may be another one.
  void age(double keep);

  // That a draft at `position` (from 0) holds if all before it did.
  [[nodiscard]] double acceptance(int32_t position) const;
  // Drafts of a proposal of `depth` that are expected to hold.
  [[nodiscard]] double expected(int32_t depth) const;

 private:
  struct Position {
    double held = 0, judged = 0;
  };
  double start_;
  std::array<Position, kMaxDraftTokens> positions_{};
};

}  // namespace paceline
