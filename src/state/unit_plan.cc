#include "state/unit_plan.h"

#include <algorithm>
#include <set>
#include <utility>

namespace paceline {
namespace {

// Less than this of a block is nothing that fewer units would not be worth.
constexpr double kSmallWaste = 0.005;

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

// Of the model's kinds, and then of a drafter's: who goes without the drafter takes no more than without one.
std::pair<double, double> worst(const UnitPlan& plan) {
  double models = kSmallWaste, drafters = kSmallWaste;
  for (const StateKind kind : kStateKinds) {
    double& most = is_drafters(kind) ? drafters : models;
    most = std::max(most, plan.waste[kind]);
  }
  return {models, drafters};
}

}  // namespace

UnitPlan plan_units(std::span<const StatePart> parts) {
  UnitPlan best;
  for (const size_t bytes : sizes_to_try(parts)) {
    UnitPlan plan = packed(parts, bytes);
    if (best.unit_bytes == 0 || worst(plan) <= worst(best)) best = std::move(plan);
  }
  return best;
}

}  // namespace paceline
