// A running estimate of milliseconds over a count (rows of a step, drafts of a proposal), learnt from what was timed.
#pragma once

#include <array>
#include <cstdint>

#include "speculate/proposer.h"

namespace paceline {

class CostCurve {
 public:
  // slope: what each count beyond the largest timed one is thought to add, as a share of it. Small on purpose: what is
  // thought cheap gets tried, and trying corrects it; what is thought dear would never be.
  explicit CostCurve(double slope) : slope_(slope) {}

  void observe(int32_t count, double ms);
  // What was found elsewhere: by a calibration, or by another run.
  void set(int32_t count, double ms, int32_t samples);
  // The same curve, easily corrected: what is timed from now on soon counts for more than what was.
  [[nodiscard]] CostCurve as_hint() const;
  // Counts that were not timed lie on the line between those that were. 0 before the first observation.
  [[nodiscard]] double ms(int32_t count) const;
  [[nodiscard]] int32_t largest_timed() const;
  [[nodiscard]] int32_t samples(int32_t count) const { return points_[static_cast<size_t>(count)].samples; }
  // As it was observed, where samples(count) > 0.
  [[nodiscard]] double timed_ms(int32_t count) const { return points_[static_cast<size_t>(count)].ms; }
  static constexpr int32_t kCounts = kMaxDraftTokens + 2;

 private:
  struct Point {
    double ms = 0;
    int32_t samples = 0;
    int64_t last = 0;  // when, in observations of the whole curve
  };
  // What a point says now: one that was not timed for long is mixed with what smaller counts let hope.
  [[nodiscard]] double believed(int32_t count) const;
  void drift(int32_t count, double ratio);

  double slope_;
  int64_t observations_ = 0;
  std::array<Point, kCounts> points_{};
};

}  // namespace paceline
