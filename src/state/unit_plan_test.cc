#include "state/unit_plan.h"

#include <gtest/gtest.h>

namespace paceline {
namespace {

std::vector<StatePart> parts_of(int32_t paged, size_t paged_bytes, int32_t window, size_t window_bytes) {
  std::vector<StatePart> parts;
  for (int32_t i = 0; i < paged; ++i) parts.push_back({StateKind::paged, paged_bytes});
  for (int32_t i = 0; i < window; ++i) parts.push_back({StateKind::window, window_bytes});
  return parts;
}

// Nothing lies on top of something else, or beyond its unit.
void expect_places(const UnitPlan& plan, std::span<const StatePart> parts) {
  ASSERT_EQ(plan.places.size(), parts.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    const UnitPlan::Place& place = plan.places[i];
    EXPECT_LT(place.unit, plan.block_units[parts[i].kind]);
    EXPECT_LE(place.offset + parts[i].bytes, plan.unit_bytes);
    EXPECT_EQ(place.offset % kPartAlignment, 0u);
    for (size_t j = 0; j < i; ++j) {
      const UnitPlan::Place& other = plan.places[j];
      if (parts[i].kind != parts[j].kind || place.unit != other.unit) continue;
      EXPECT_TRUE(place.offset >= other.offset + parts[j].bytes || other.offset >= place.offset + parts[i].bytes);
    }
  }
}

TEST(UnitPlanTest, FewAndFullUnits) {
  const auto even = parts_of(8, 4096, 12, 8192);
  const UnitPlan plan = plan_units(even);
  expect_places(plan, even);
  EXPECT_EQ(plan.unit_bytes, 8u * 4096);
  EXPECT_EQ(plan.block_units[StateKind::paged], 1);
  EXPECT_EQ(plan.block_units[StateKind::window], 3);
  EXPECT_EQ(plan.waste[StateKind::paged], 0);
  EXPECT_EQ(plan.waste[StateKind::window], 0);
}

TEST(UnitPlanTest, OddNumbersWasteLittle) {
  for (const auto& parts :
       {parts_of(10, 131072, 50, 262144), parts_of(6, 5000, 34, 3000), parts_of(2, 100, 9, 77777)}) {
    const UnitPlan plan = plan_units(parts);
    expect_places(plan, parts);
  }
  const UnitPlan plan = plan_units(parts_of(10, 131072, 50, 262144));
  EXPECT_EQ(plan.waste[StateKind::paged], 0);
  EXPECT_EQ(plan.waste[StateKind::window], 0);
}

// Those of a model are cut as if there were no drafter.
TEST(UnitPlanTest, ADraftersPartsComeBehindTheModels) {
  const auto model = parts_of(2, 20480, 20, 16384);
  auto both = model;
  for (int i = 0; i < 4; ++i) both.push_back({StateKind::draft_window, 16384});
  for (int i = 0; i < 2; ++i) both.push_back({StateKind::draft_paged, 16384});
  const UnitPlan plain = plan_units(model), plan = plan_units(both);
  expect_places(plan, both);
  for (const StateKind kind : {StateKind::paged, StateKind::window})
    EXPECT_EQ(static_cast<size_t>(plan.block_units[kind]) * plan.unit_bytes,
              static_cast<size_t>(plain.block_units[kind]) * plain.unit_bytes);
  // Where nothing of the model is wasted either way, as little as can be of the drafter.
  both = parts_of(8, 4096, 12, 8192);
  for (int i = 0; i < 3; ++i) both.push_back({StateKind::draft_paged, 8192});
  EXPECT_EQ(plan_units(both).waste[StateKind::draft_paged], 0);
  EXPECT_EQ(plan_units(both).waste[StateKind::window], 0);
}

TEST(UnitPlanTest, OneKindAlone) {
  const auto parts = parts_of(6, 1024, 0, 0);
  const UnitPlan plan = plan_units(parts);
  EXPECT_EQ(plan.unit_bytes, 6u * 1024);
  EXPECT_EQ(plan.block_units[StateKind::paged], 1);
  EXPECT_EQ(plan.block_units[StateKind::window], 0);
}

}  // namespace
}  // namespace paceline
