#include "speculate/survival.h"

namespace paceline {
namespace {

// Of positions that were not drafted so much less is forgotten: they return to what the position before them says, and
// are tried again.
constexpr double kUntriedShare = 0.25;
// What the position before is worth, in drafts seen.
constexpr double kPriorWeight = 4;
// The first position has a longer memory in that place.
constexpr double kStartShare = 0.02;
// Drafts that might hold yet, of a position that was hardly drafted; half as many once so many were seen.
constexpr double kHope = 6, kHalfHope = 4;

}  // namespace

void Survival::observe(int32_t kept, int32_t judged) {
  if (judged > 0) start_ += kStartShare * ((kept > 0 ? 1 : 0) - start_);
  for (int32_t i = 0; i < kMaxDraftTokens; ++i) {
    Position& position = positions_[static_cast<size_t>(i)];
    const bool seen = i < judged && i <= kept;
    const double keep = seen ? keep_ : 1 - kUntriedShare * (1 - keep_);
    // The first position has none before it that could correct it; probing does.
    if (i == 0 && !seen) continue;
    position.held = position.held * keep + (seen && i < kept ? 1 : 0);
    position.judged = position.judged * keep + (seen ? 1 : 0);
  }
}

void Survival::age(double keep) {
  // Not back to what was thought before anything was seen: else failing again and again would look like a new chance.
  start_ = acceptance(0);
  for (Position& position : positions_) {
    position.held *= keep;
    position.judged *= keep;
  }
}

void Survival::start_from(const Survival& other, double drafts) {
  start_ = other.acceptance(0);
  positions_ = other.positions_;
  for (Position& position : positions_) {
    const double share = position.judged > drafts ? drafts / position.judged : 1;
    position.held *= share;
    position.judged *= share;
  }
}

double Survival::acceptance(int32_t position) const {
  double estimate = start_;
  for (int32_t i = 0; i <= position; ++i) {
    const Position& at = positions_[static_cast<size_t>(i)];
    estimate = (at.held + kPriorWeight * estimate) / (at.judged + kPriorWeight);
  }
  return estimate;
}

double Survival::expected(int32_t depth) const {
  double sum = 0, survives = 1, estimate = start_;
  for (int32_t i = 0; i < depth; ++i) {
    const Position& at = positions_[static_cast<size_t>(i)];
    estimate = (at.held + kPriorWeight * estimate) / (at.judged + kPriorWeight);
    survives *= estimate;
    sum += survives;
  }
  return sum;
}

double Survival::hoped(int32_t depth, const Survival& typical) const {
  double sum = 0, survives = 1, estimate = start_;
  for (int32_t i = 0; i < depth; ++i) {
    const Position& at = positions_[static_cast<size_t>(i)];
    const double judged = typical.positions_[static_cast<size_t>(i)].judged;
    const double hope = i > 0 && judged == 0 ? 0 : kHope / (1 + judged / kHalfHope);
    estimate = (at.held + kPriorWeight * estimate + hope) / (at.judged + kPriorWeight + hope);
    survives *= estimate;
    sum += survives;
  }
  return sum;
}

}  // namespace paceline
