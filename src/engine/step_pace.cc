#include "engine/step_pace.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace paceline {
namespace {

// Before anything is known.
constexpr int32_t kFirstRows = 64;
// A new sample's share once there are several, and how far a single one is believed.
constexpr double kShare = 0.2, kFurthest = 1.5;
// More rows take no more than their share of the time that fewer took, and some: whatever else was seen of them was a
// stall, or the first time.
constexpr double kMostOverShare = 1.3;

}  // namespace

size_t StepPace::point_of(int32_t rows) {
  const auto count = static_cast<uint32_t>(std::max(rows, 1));
  const auto doubling = static_cast<size_t>(std::bit_width(count)) - 1;
  const bool upper = doubling > 0 && (count >> (doubling - 1) & 1) != 0;
  return std::min(2 * doubling + (upper ? 1 : 0), kPoints - 1);
}

// Contexts of which nothing is known take what shorter ones do, or else longer ones.
const StepPace::Points* StepPace::at(int32_t context) const {
  const auto has_some = [](const Points& points) {
    return std::any_of(points.begin(), points.end(), [](const Point& point) { return point.samples > 0; });
  };
  const auto here = static_cast<size_t>(StepCosts::context_class(context));
  for (size_t i = here + 1; i-- > 0;)
    if (has_some(points_[i])) return &points_[i];
  for (size_t i = here + 1; i < points_.size(); ++i)
    if (has_some(points_[i])) return &points_[i];
  return nullptr;
}

void StepPace::observe(int32_t rows, int32_t context, double ms) {
  Points& points = points_[static_cast<size_t>(StepCosts::context_class(context))];
  const size_t at = point_of(rows);
  Point& point = points[at];
  if (point.samples > 1) ms = std::clamp(ms, point.ms / kFurthest, point.ms * kFurthest);
  ++point.samples;
  const double share = std::max(1.0 / static_cast<double>(point.samples), kShare);
  point.rows += share * (rows - point.rows);
  point.ms += share * (ms - point.ms);
  for (size_t above = at + 1; above < kPoints; ++above)
    points[above].ms = std::min(points[above].ms, kMostOverShare * point.ms * points[above].rows / point.rows);
}

double StepPace::ms(int32_t rows, int32_t context) const {
  if (known_) return known_(rows);
  const Points* points = at(context);
  if (points == nullptr) return 0;
  const Point *below = nullptr, *above = nullptr;
  for (const Point& point : *points) {
    if (point.samples == 0) continue;
    if (point.rows <= rows) below = &point;
    if (point.rows >= rows && above == nullptr) above = &point;
  }
  if (below == nullptr || below == above) return above->ms;
  if (above == nullptr) return below->ms * rows / below->rows;
  return below->ms + (above->ms - below->ms) * (rows - below->rows) / (above->rows - below->rows);
}

int32_t StepPace::rows_within(double ms, int32_t context, int32_t most) const {
  int32_t rows = most;
  if (!known_) {
    const Points* points = at(context);
    double tried = kFirstRows / 2.0;
    if (points != nullptr)
      for (const Point& point : *points) tried = std::max(tried, point.rows);
    rows = std::min(most, static_cast<int32_t>(2 * tried));
  }
  while (rows > 1 && this->ms(rows, context) > ms) rows -= (rows + 31) / 32;
  return std::max(rows, 1);
}

double StepPace::row_ms(int32_t rows, int32_t context) const {
  const double now = ms(rows, context);
  if (now == 0 || rows == 0) return 0;
  const int32_t more = rows + std::max(rows / 4, 1);
  // Steps differ by more than their rows: no row is nearly free on the strength of that.
  return std::max((ms(more, context) - now) / (more - rows), 0.25 * now / rows);
}

}  // namespace paceline
