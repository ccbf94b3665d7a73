#include "engine/step_pace.h"

#include <gtest/gtest.h>

namespace paceline {
namespace {

// Of a device: weights are read once, rows cost a little.
double took(int32_t rows) { return 6.0 + 0.05 * rows; }

int32_t settle(StepPace& pace, double bound_ms, int32_t most = 2048) {
  int32_t rows = 0;
  for (int i = 0; i < 40; ++i) {
    rows = pace.rows_within(bound_ms, 100, most);
    EXPECT_LE(took(rows), 1.2 * bound_ms);
    pace.observe(rows, 100, took(rows));
  }
  return rows;
}

TEST(StepPaceTest, FindsTheRowsThatFit) {
  StepPace pace;
  const int32_t rows = settle(pace, 50);
  EXPECT_GT(took(rows), 44);
  EXPECT_LE(took(rows), 51);
  EXPECT_EQ(settle(pace, 500), 2048);
  EXPECT_NEAR(pace.ms(300, 100), took(300), 1);
  EXPECT_NEAR(pace.row_ms(400, 100), 0.05, 0.02);
}

TEST(StepPaceTest, AStallIsForgotten) {
  StepPace pace;
  for (int i = 0; i < 3; ++i) pace.observe(1000, 100, 900);
  EXPECT_GT(took(settle(pace, 50)), 44);
}

TEST(StepPaceTest, LongContextsHaveTheirOwn) {
  StepPace pace;
  settle(pace, 50);
  for (int i = 0; i < 10; ++i) pace.observe(800, 60000, 200);
  EXPECT_LT(pace.rows_within(50, 60000, 2048), 400);
  EXPECT_GT(pace.rows_within(50, 100, 2048), 700);
}

}  // namespace
}  // namespace paceline
