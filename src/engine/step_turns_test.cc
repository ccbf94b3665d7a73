#include "engine/step_turns.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace paceline {
namespace {

TEST(StepTurns, OneAtATimeAndEachItsShareOfTheTime) {
  StepTurns turns;
  std::atomic<int> inside = 0;
  std::atomic<bool> stops = false;
  int counts[2] = {0, 0};
  // One takes eight times as long for a step.
  const auto work = [&](size_t who, int ms) {
    StepTurns::Seat seat(&turns);
    while (!stops) {
      const StepTurns::Turn turn(seat);
      EXPECT_EQ(++inside, 1);
      std::this_thread::sleep_for(std::chrono::milliseconds(ms));
      --inside;
      ++counts[who];
    }
  };
  std::thread slow([&] { work(0, 16); }), quick([&] { work(1, 2); });
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  stops = true;
  slow.join();
  quick.join();
  EXPECT_GE(counts[0], 5);
  EXPECT_GE(counts[1], 4 * counts[0]);
  EXPECT_LE(counts[1], 12 * counts[0]);
}

TEST(StepTurns, WhoWasIdleHasSavedUpNothing) {
  StepTurns turns;
  StepTurns::Seat busy(&turns), late(&turns);
  for (int i = 0; i < 20; ++i) {
    const StepTurns::Turn turn(busy);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  std::atomic<bool> stops = false;
  std::atomic<int> late_steps = 0;
  std::thread other([&] {
    while (!stops) {
      const StepTurns::Turn turn(late);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      ++late_steps;
    }
  });
  while (late_steps == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const int before = late_steps;
  { const StepTurns::Turn turn(busy); }
  EXPECT_LE(late_steps - before, 3);
  stops = true;
  other.join();
}

TEST(StepTurns, WithoutTurnsNobodyWaits) {
  StepTurns::Seat seat(nullptr), another(nullptr);
  const StepTurns::Turn first(seat);
  const StepTurns::Turn second(another);
}

}  // namespace
}  // namespace paceline
