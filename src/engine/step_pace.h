// What steps take by their rows, learnt as they run, and how many rows therefore fit into a bound on time. A wrong
// guess costs time and nothing else.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "speculate/step_costs.h"

namespace paceline {

class StepPace {
 public:
  // known: what a step of so many rows takes, instead of what is observed; may be empty.
  explicit StepPace(std::function<double(int32_t rows)> known = {}) : known_(std::move(known)) {}

  // context: tokens that a row sees, of all rows on the average.
  void observe(int32_t rows, int32_t context, double ms);
  // The most rows of a step that is thought to take no longer; not many more than have been tried.
  [[nodiscard]] int32_t rows_within(double ms, int32_t context, int32_t most) const;
  // What a row more adds to a step of so many; 0: not known.
  [[nodiscard]] double row_ms(int32_t rows, int32_t context) const;
  [[nodiscard]] double ms(int32_t rows, int32_t context) const;

 private:
  // Steps of about as many rows: what they had and took on the average, newer ones counting for more.
  struct Point {
    double rows = 0, ms = 0;
    int64_t samples = 0;
  };
  // Two to each doubling.
  static constexpr size_t kPoints = 26;
  using Points = std::array<Point, kPoints>;
  static size_t point_of(int32_t rows);
  [[nodiscard]] const Points* at(int32_t context) const;

  std::function<double(int32_t)> known_;
  std::array<Points, StepCosts::kContexts> points_{};
};

}  // namespace paceline
