// A running estimate of milliseconds over a count (rows of a step, drafts of a proposal), learnt from what was timed.
#pragma once

#include <array>
#include <cstdint>

#include "speculate/drafter.h"

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
  // Counts that were not timed lie on the line between those that were. None takes longer than a larger one did. 0
  // before the first observation.
  [[nodiscard]] double ms(int32_t count) const;
  // What it may be at best, as long as few rounds have said so: what is known from elsewhere may have been timed beside
  // other programs.
  [[nodiscard]] double hoped_ms(int32_t count) const;
  [[nodiscard]] int32_t largest_timed() const;
  // The same of those that were observed, and not only set; 0: none.
  [[nodiscard]] int32_t largest_ran() const { return count_at(largest_own_); }
  // Observed, and not only set.
  [[nodiscard]] bool ran(int32_t count) const;
  // Of the point at or next below the count.
  [[nodiscard]] int32_t samples(int32_t count) const { return points_[point_below(count)].samples; }
  // As it was observed, where samples(count) > 0.
  [[nodiscard]] double timed_ms(int32_t count) const { return points_[point_below(count)].ms; }
  // Counts that one sequence reaches; each has a point of its own.
  static constexpr int32_t kCounts = kMaxDraftTokens + 2;
  static constexpr int32_t kLargest = 2047;

 private:
  struct Point {
    double ms = 0;
    int32_t samples = 0;
    int32_t own = 0;   // of them, those that were observed and not set
    int64_t last = 0;  // when, in observations of the whole curve
  };
  // Points at 0 … 32, then sixteen to each doubling.
  static constexpr size_t kPoints = 33 + 6 * 16;
  static size_t point_below(int32_t count);
  static int32_t count_at(size_t point);

  void observe_point(size_t point, double ms);
  // What a point says now: one that was not timed for long is mixed with what smaller counts let hope.
  [[nodiscard]] double believed(size_t point) const;
  [[nodiscard]] double between_ms(int32_t count) const;
  [[nodiscard]] double beyond_ms(size_t largest) const;
  void drift(size_t point, double ratio);
  // Of the nearest timed point at or below.
  [[nodiscard]] int32_t samples_below(size_t at) const;

  double slope_;
  int64_t observations_ = 0;
  size_t largest_own_ = 0;
  size_t largest_ = 0;  // none above it was set or observed
  std::array<Point, kPoints> points_{};
};

}  // namespace paceline
