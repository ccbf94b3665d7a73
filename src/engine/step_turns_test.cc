#include "engine/step_turns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>

namespace paceline {
namespace {

TEST(StepTurns, OneAtATimeAndEachItsShareOfTheTime) {
  StepTurns turns(std::chrono::seconds(2));
  std::atomic<int> inside = 0;
  std::atomic<bool> stops = false;
  std::atomic<int> ready = 0;
  struct Had {
    double all_s = 0, longest_s = 0;
    int steps = 0;
  } had[2];
  // One takes eight times as long for a step. However much longer the machine lets them take, neither may be further
  // ahead of the other than by a step.
  const auto work = [&](Had& mine, int ms) {
    StepTurns::Seat seat(&turns);
    ++ready;
    while (ready < 2) std::this_thread::yield();
    while (!stops) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));  // away between two steps
      const StepTurns::Turn turn(seat);
      const auto began = std::chrono::steady_clock::now();
      EXPECT_EQ(++inside, 1);
      std::this_thread::sleep_for(std::chrono::milliseconds(ms));
      --inside;
      const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
      mine.all_s += took;
      mine.longest_s = std::max(mine.longest_s, took);
      // Both wait for a turn at the end, so that the last to go has not gone on alone.
      if (++mine.steps >= 400 || (&mine == &had[0] && mine.steps >= 20)) stops = true;
    }
  };
  std::thread slow([&] { work(had[0], 16); }), quick([&] { work(had[1], 2); });
  slow.join();
  quick.join();
  EXPECT_GE(had[0].steps, 5);
  EXPECT_GE(had[1].steps, 5);
  // A step's own bookkeeping is part of its turn, but not of what is counted here.
  const double longest = std::max(had[0].longest_s, had[1].longest_s);
  EXPECT_LE(std::abs(had[0].all_s - had[1].all_s), 2 * longest + 0.1 * had[0].all_s);
}

TEST(StepTurns, WhoDoesNotComeBackHoldsNobodyUp) {
  StepTurns turns(std::chrono::milliseconds(1));
  StepTurns::Seat gone(&turns), stays(&turns);
  std::thread other;
  {
    const StepTurns::Turn turn(gone);
    other = std::thread([&] {
      for (int i = 0; i < 3; ++i) const StepTurns::Turn next(stays);
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  other.join();
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
