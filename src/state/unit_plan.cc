#include "state/unit_plan.h"

#include <algorithm>
#include <array>
#include <set>

namespace paceline {
namespace {

// Less than this is nothing that fewer units would not be worth.
constexpr double kSmallWaste = 0.005;
// What sequences without the drafter may lose for those with it.
constexpr double kForDrafters = 0.02;
// Of sequences: 1,024, 4,096 and 16,384 positions.
constexpr std::array<int32_t, 3> kPages{16, 64, 256};
// Rows that may be taken back, on both sides.
constexpr double kTapeRows = 8;

size_t aligned(size_t bytes) { return (bytes + kPartAlignment - 1) / kPartAlignment * kPartAlignment; }

// Each part into the first of its kind's units that has room.
UnitPlan packed(std::span<const StatePart> parts, size_t unit_bytes) {
  UnitPlan plan;
  plan.unit_bytes = unit_bytes;
  ByKind<std::vector<size_t>> used;
  ByKind<size_t> needed;
  for (const StatePart& part : parts) {
    const size_t bytes = aligned(part.bytes);
    std::vector<size_t>& units = used[part.kind];
    auto unit = std::find_if(units.begin(), units.end(), [&](size_t filled) { return filled + bytes <= unit_bytes; });
    if (unit == units.end()) unit = units.insert(unit, 0);
    plan.places.push_back({static_cast<int32_t>(unit - units.begin()), *unit});
    *unit += bytes;
    needed[part.kind] += part.bytes;
  }
  for (const StateKind kind : kStateKinds) {
    plan.block_units[kind] = static_cast<int32_t>(used[kind].size());
    if (used[kind].empty()) continue;
    plan.waste[kind] = 1.0 - static_cast<double>(needed[kind]) / static_cast<double>(used[kind].size() * unit_bytes);
  }
  return plan;
}

// So many parts of a kind, from its first on, in one unit: with equal parts all sizes that can be filled.
std::set<size_t> sizes_to_try(std::span<const StatePart> parts) {
  std::set<size_t> sizes;
  size_t largest = kPartAlignment;
  ByKind<size_t> sum;
  for (const StatePart& part : parts) {
    largest = std::max(largest, aligned(part.bytes));
    sizes.insert(sum[part.kind] += aligned(part.bytes));
  }
  sizes.insert(largest);
  sizes.erase(sizes.begin(), sizes.lower_bound(largest));
  return sizes;
}

// Blocks of each kind that a sequence holds. Of its states, those that are kept beside it take about half as much as
// its pages.
ByKind<double> blocks_held(const ByKind<double>& needed, const UnitRings& rings, int32_t pages) {
  ByKind<double> held;
  held[StateKind::paged] = held[StateKind::draft_paged] = pages;
  held[StateKind::window] = std::min(pages, rings.window);
  held[StateKind::draft_window] = std::min(pages, rings.draft_window);
  held[StateKind::tape] = kTapeRows;
  const double state = needed[StateKind::recurrent];
  if (state > 0) held[StateKind::recurrent] = 1 + pages * needed[StateKind::paged] / state / 2;
  return held;
}

// The share of all that sequences hold, on average; what is small is all one.
double mean_waste(const UnitPlan& plan, const ByKind<double>& needed, const UnitRings& rings, bool drafts) {
  double sum = 0;
  for (const int32_t pages : kPages) {
    const ByKind<double> held = blocks_held(needed, rings, pages);
    double filled = 0, taken = 0;
    for (const StateKind kind : kStateKinds) {
      if (is_drafters(kind) && !drafts) continue;
      filled += held[kind] * needed[kind];
      taken += held[kind] * static_cast<double>(plan.block_units[kind]) * static_cast<double>(plan.unit_bytes);
    }
    if (taken > 0) sum += 1 - filled / taken;
  }
  return std::max(sum / kPages.size(), kSmallWaste);
}

}  // namespace

UnitPlan plan_units(std::span<const StatePart> parts, const UnitRings& rings) {
  ByKind<double> needed;
  for (const StatePart& part : parts) needed[part.kind] += static_cast<double>(part.bytes);
  struct Tried {
    size_t unit_bytes;
    double alone, drafted;  // waste without the drafter, and with it
  };
  std::vector<Tried> all;
  for (const size_t bytes : sizes_to_try(parts)) {
    const UnitPlan plan = packed(parts, bytes);
    all.push_back({bytes, mean_waste(plan, needed, rings, false), mean_waste(plan, needed, rings, true)});
  }
  const auto by_alone = [](const Tried& a, const Tried& b) { return a.alone < b.alone; };
  const double most = std::min_element(all.begin(), all.end(), by_alone)->alone + kForDrafters;
  const Tried* best = nullptr;
  for (const Tried& one : all) {
    if (one.alone <= most && (best == nullptr || one.drafted <= best->drafted)) best = &one;
  }
  return packed(parts, best->unit_bytes);
}

}  // namespace paceline
