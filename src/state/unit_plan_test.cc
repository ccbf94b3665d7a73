#include "state/unit_plan.h"

#include <gtest/gtest.h>

namespace paceline {
namespace {

constexpr UnitRings kRings{13, 13};

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
  const UnitPlan plan = plan_units(even, kRings);
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
    const UnitPlan plan = plan_units(parts, kRings);
    expect_places(plan, parts);
  }
  const UnitPlan plan = plan_units(parts_of(10, 131072, 50, 262144), kRings);
  EXPECT_EQ(plan.waste[StateKind::paged], 0);
  EXPECT_EQ(plan.waste[StateKind::window], 0);
}

// Those of a model are cut as if there were no drafter.
TEST(UnitPlanTest, ADraftersPartsComeBehindTheModels) {
  const auto model = parts_of(2, 20480, 20, 16384);
  auto both = model;
  for (int i = 0; i < 4; ++i) both.push_back({StateKind::draft_window, 16384});
  for (int i = 0; i < 2; ++i) both.push_back({StateKind::draft_paged, 16384});
  const UnitPlan plain = plan_units(model, kRings), plan = plan_units(both, kRings);
  expect_places(plan, both);
  for (const StateKind kind : {StateKind::paged, StateKind::window})
    EXPECT_EQ(static_cast<size_t>(plan.block_units[kind]) * plan.unit_bytes,
              static_cast<size_t>(plain.block_units[kind]) * plain.unit_bytes);
  // Where nothing of the model is wasted either way, as little as can be of the drafter.
  both = parts_of(8, 4096, 12, 8192);
  for (int i = 0; i < 3; ++i) both.push_back({StateKind::draft_paged, 8192});
  EXPECT_EQ(plan_units(both, kRings).waste[StateKind::draft_paged], 0);
  EXPECT_EQ(plan_units(both, kRings).waste[StateKind::window], 0);
}

TEST(UnitPlanTest, OneKindAlone) {
  const auto parts = parts_of(6, 1024, 0, 0);
  const UnitPlan plan = plan_units(parts, kRings);
  EXPECT_EQ(plan.unit_bytes, 6u * 1024);
  EXPECT_EQ(plan.block_units[StateKind::paged], 1);
  EXPECT_EQ(plan.block_units[StateKind::window], 0);
}

// Of a hybrid of 10 layers with pages and 30 with states, and a drafter with a layer of its own: rows of tape and
// states are odd sizes, but most of what is held are pages.
TEST(UnitPlanTest, WhatIsHeldMostWastesLeast) {
  std::vector<StatePart> parts;
  ByKind<size_t> needed;
  const auto add = [&](StateKind kind, size_t bytes) {
    parts.push_back({kind, bytes});
    needed[kind] += bytes;
  };
  for (int layer = 0; layer < 40; ++layer) {
    if (layer % 4 == 3) {
      for (int i = 0; i < 2; ++i) add(StateKind::paged, 65536);
      continue;
    }
    for (int head = 0; head < 32; ++head) add(StateKind::recurrent, 65536);
    add(StateKind::recurrent, 98304);
    add(StateKind::tape, 57472);
  }
  for (int i = 0; i < 2; ++i) add(StateKind::draft_paged, 65536);
  const UnitPlan plan = plan_units(parts, kRings);
  expect_places(plan, parts);
  for (const int64_t pages : {32, 256, 2048}) {
    size_t filled = 0, taken = 0;
    for (const auto& [kind, blocks] : {std::pair{StateKind::paged, pages},
                                       {StateKind::draft_paged, pages},
                                       {StateKind::recurrent, 1},
                                       {StateKind::tape, 8}}) {
      filled += static_cast<size_t>(blocks) * needed[kind];
      taken += static_cast<size_t>(blocks) * static_cast<size_t>(plan.block_units[kind]) * plan.unit_bytes;
    }
    EXPECT_LT(static_cast<double>(taken), 1.04 * static_cast<double>(filled)) << pages;
  }
}

}  // namespace
}  // namespace paceline
