#include "speculate/cost_curve.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/check.h"

namespace paceline {
namespace {

// A new sample's share once there are several.
constexpr double kShare = 0.05;
// A single stall (another process, a page fault) moves an estimate no further than this factor; and nothing makes a
// step faster than it is.
constexpr double kFurthest = 1.5, kFurthestUp = 1.2;
// What was found elsewhere, beside other programs, may be so many times too much.
constexpr double kDearest = 4;
// What one count's deviation says about all others: a growing context or a lower clock concerns them all.
constexpr double kShared = 0.05;
// Observations after which a point that was not renewed is mostly hope. What is wrong is thus tried again some hundreds
// of rounds later; what was timed often is likely right, and kept for longer: trying it again costs one slow round.
constexpr double kForgetting = 512;
constexpr int32_t kWellTimed = 8;
// How much less than what was found elsewhere a count may take, until rounds say otherwise.
constexpr double kDoubt = 0.35;
// Points above one that are asked whether it can be so dear.
constexpr size_t kLookedAt = 16;

}  // namespace

size_t CostCurve::point_below(int32_t count) {
  CHECK(count >= 0 && count <= kLargest);
  if (count <= 32) return static_cast<size_t>(count);
  const int32_t doubling = static_cast<int32_t>(std::bit_width(static_cast<uint32_t>(count))) - 6;
  return static_cast<size_t>(33 + 16 * doubling + (count >> (doubling + 1)) - 16) - 1;
}

int32_t CostCurve::count_at(size_t point) {
  const auto at = static_cast<int32_t>(point);
  if (at <= 32) return at;
  const int32_t doubling = (at - 32) / 16, within = (at - 32) % 16;
  return (16 + within) << (doubling + 1);
}

void CostCurve::observe(int32_t count, double ms) {
  const size_t below = point_below(count);
  if (count_at(below) == count || below + 1 == kPoints) {
    observe_point(below, ms);
    return;
  }
  // Between two points: both are off by the same factor.
  const double thought = this->ms(count);
  const double factor = thought > 0 ? ms / thought : 1;
  const double low = this->ms(count_at(below)), high = this->ms(count_at(below + 1));
  observe_point(below, thought > 0 ? low * factor : ms);
  observe_point(below + 1, thought > 0 ? high * factor : ms);
}

void CostCurve::observe_point(size_t at, double ms) {
  Point& point = points_[at];
  // What was found elsewhere counts for one, and so does what neighbours on both sides say.
  const bool between = point.samples == 0 && count_at(at) < largest_timed() && samples_below(at) > 0;
  if (between) point.ms = this->ms(count_at(at));
  const int32_t known = point.own + (point.samples > point.own || between ? 1 : 0);
  if (point.own > 0) {
    ms = std::clamp(ms, point.ms / kFurthest, point.ms * kFurthestUp);
  } else if (point.samples > 1 || between) {
    ms = std::clamp(ms, point.ms / kDearest, point.ms * kFurthest);
  }
  const double before = point.ms;
  ++point.samples;
  ++point.own;
  largest_own_ = std::max(largest_own_, at);
  largest_ = std::max(largest_, at);
  const double share = point.own == 1 && ms < point.ms ? 1 : std::max(1.0 / (known + 1), kShare);
  point.ms += share * (ms - point.ms);
  if (known > 1 && before > 0) drift(at, ms / before);
  point.last = ++observations_;
}

int32_t CostCurve::samples_below(size_t at) const {
  while (at > 0 && points_[at].samples == 0) --at;
  return points_[at].samples;
}

bool CostCurve::ran(int32_t count) const {
  const size_t at = point_below(count);
  return count_at(at) == count && points_[at].own > 0;
}

void CostCurve::set(int32_t count, double ms, int32_t samples) {
  CHECK(count >= 0 && count < kCounts);
  points_[static_cast<size_t>(count)] = {ms, samples, 0, observations_};
  largest_ = std::max(largest_, static_cast<size_t>(count));
}

CostCurve CostCurve::as_hint() const {
  CostCurve hint = *this;
  for (Point& point : hint.points_) point.samples = std::min(point.samples, 1), point.own = 0;
  hint.largest_own_ = 0;
  return hint;
}

void CostCurve::drift(size_t point, double ratio) {
  const double factor = 1 + kShared * (ratio - 1);
  for (size_t other = 0; other < kPoints; ++other) {
    if (other != point) points_[other].ms *= factor;
  }
}

double CostCurve::believed(size_t at) const {
  const Point& point = points_[at];
  if (at == 0) return point.ms;
  size_t below = at - 1;
  while (below > 0 && points_[below].samples == 0) --below;
  if (points_[below].samples == 0) return point.ms;
  const double hoped = points_[below].ms * (1 + slope_ * (count_at(at) - count_at(below)));
  if (hoped >= point.ms) return point.ms;
  const double memory = kForgetting * std::min(point.samples, kWellTimed);
  const double fresh = std::exp(-static_cast<double>(observations_ - point.last) / memory);
  return hoped + fresh * (point.ms - hoped);
}

double CostCurve::ms(int32_t count) const {
  const double ms = between_ms(count);
  const size_t at = point_below(count);
  double least = ms;
  for (size_t above = at + 1; above <= std::min(largest_own_, at + kLookedAt); ++above)
    if (points_[above].own > 0) least = std::min(least, points_[above].ms);
  return least;
}

double CostCurve::between_ms(int32_t count) const {
  const size_t at = point_below(count);
  const auto timed = [&](size_t point) { return points_[point].samples > 0; };
  size_t below = at;
  while (below > 0 && !timed(below)) --below;
  const bool has_below = timed(below);
  size_t above = count_at(at) == count ? at : at + 1;
  while (above <= largest_ && !timed(above)) ++above;
  if (above > largest_) return has_below ? believed(below) + beyond_ms(below) * (count - count_at(below)) : 0;
  const double high = believed(above);
  if (!has_below || above == below) return high;
  const double low = believed(below);
  return low + (high - low) * (count - count_at(below)) / (count_at(above) - count_at(below));
}

// What each count beyond the largest timed one is thought to add: as much as those from half of it on did, where that
// is less.
double CostCurve::beyond_ms(size_t largest) const {
  const int32_t count = count_at(largest);
  const double most = slope_ * believed(largest);
  size_t half = point_below(count / 2);
  while (half > 0 && points_[half].samples == 0) --half;
  if (half == 0) return most;
  return std::clamp((believed(largest) - believed(half)) / (count - count_at(half)), 0.0, most);
}

double CostCurve::hoped_ms(int32_t count) const {
  const size_t at = point_below(count);
  const int32_t own = count_at(at) == count ? points_[at].own : 0;
  if (own > 0) return ms(count) * (1 - kDoubt / (1.0 + static_cast<double>(own) * own));
  // One that never ran may take little more than the next smaller one that did.
  size_t below = at;
  while (below > 0 && points_[below].own == 0) --below;
  const double doubted = ms(count) * (1 - kDoubt);
  if (points_[below].own == 0) return doubted;
  return std::min(doubted, points_[below].ms * (1 + slope_ * (count - count_at(below))));
}

int32_t CostCurve::largest_timed() const {
  size_t at = largest_;
  while (at > 0 && points_[at].samples == 0) --at;
  return count_at(at);
}

}  // namespace paceline
