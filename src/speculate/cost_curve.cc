#include "speculate/cost_curve.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace paceline {
namespace {

// A new sample's share once there are several.
constexpr double kShare = 0.05;
// A single stall (another process, a page fault) moves an estimate no further than this factor.
constexpr double kFurthest = 1.5;
// What one count's deviation says about all others: a growing context or a lower clock concerns them all.
constexpr double kShared = 0.05;
// Observations after which a point that was not renewed is mostly hope. What is wrong is thus tried again some hundreds
// of rounds later; what was timed often is likely right, and kept for longer: trying it again costs one slow round.
constexpr double kForgetting = 512;
constexpr int32_t kWellTimed = 8;

}  // namespace

void CostCurve::observe(int32_t count, double ms) {
  CHECK(count >= 0 && count < static_cast<int32_t>(points_.size()));
  Point& point = points_[static_cast<size_t>(count)];
  if (point.samples > 1) ms = std::clamp(ms, point.ms / kFurthest, point.ms * kFurthest);
  const double before = point.ms;
  ++point.samples;
  point.ms += std::max(1.0 / point.samples, kShare) * (ms - point.ms);
  if (point.samples > 2 && before > 0) drift(count, ms / before);
  point.last = ++observations_;
}

void CostCurve::set(int32_t count, double ms, int32_t samples) {
  CHECK(count >= 0 && count < kCounts);
  points_[static_cast<size_t>(count)] = {ms, samples, observations_};
}

CostCurve CostCurve::as_hint() const {
  CostCurve hint = *this;
  for (Point& point : hint.points_) point.samples = std::min(point.samples, 1);
  return hint;
}

void CostCurve::drift(int32_t count, double ratio) {
  for (int32_t other = 0; other < static_cast<int32_t>(points_.size()); ++other) {
    if (other != count) points_[static_cast<size_t>(other)].ms *= 1 + kShared * (ratio - 1);
  }
}

double CostCurve::believed(int32_t count) const {
  const Point& point = points_[static_cast<size_t>(count)];
  int32_t below = count - 1;
  while (below >= 0 && points_[static_cast<size_t>(below)].samples == 0) --below;
  if (below < 0) return point.ms;
  const double hoped = points_[static_cast<size_t>(below)].ms * (1 + slope_ * (count - below));
  if (hoped >= point.ms) return point.ms;
  const double memory = kForgetting * std::min(point.samples, kWellTimed);
  const double fresh = std::exp(-static_cast<double>(observations_ - point.last) / memory);
  return hoped + fresh * (point.ms - hoped);
}

double CostCurve::ms(int32_t count) const {
  int32_t below = count, above = count;
  const auto timed = [&](int32_t at) { return points_[static_cast<size_t>(at)].samples > 0; };
  while (below >= 0 && !timed(below)) --below;
  while (above < static_cast<int32_t>(points_.size()) && !timed(above)) ++above;
  if (above == static_cast<int32_t>(points_.size())) {
    return below < 0 ? 0 : believed(below) * (1 + slope_ * (count - below));
  }
  const double high = believed(above);
  if (below < 0 || above == below) return high;
  const double low = believed(below);
  return low + (high - low) * (count - below) / (above - below);
}

int32_t CostCurve::largest_timed() const {
  auto at = static_cast<int32_t>(points_.size()) - 1;
  while (at > 0 && points_[static_cast<size_t>(at)].samples == 0) --at;
  return at;
}

}  // namespace paceline
