#include "engine/step_turns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <future>
#include <thread>
#include <utility>

namespace paceline {
namespace {

// One takes eight times as long for a step. However much longer the machine lets them take: each holds its step until
// the other waits, and is waited for, so neither may be further ahead of the other than by one step.
TEST(StepTurns, OneAtATimeAndEachItsShareOfTheTime) {
  StepTurns turns(std::chrono::minutes(2));
  std::atomic<int> inside = 0, ended = 0;
  std::atomic<bool> stops = false;
  struct Had {
    double all_s = 0, longest_s = 0;
    int steps = 0;
  } had[2];
  const auto work = [&](Had& mine, std::chrono::microseconds least) {
    StepTurns::Seat seat(&turns);
    while (!stops) {
      const double before_s = seat.used_s();
      {
        const StepTurns::Turn turn(seat);
        if (stops) break;
        EXPECT_EQ(++inside, 1);
        std::this_thread::sleep_for(least);
        while (turns.waiting() == 0) std::this_thread::yield();
        --inside;
        if (++mine.steps >= 400 || (&mine == &had[0] && mine.steps >= 20)) stops = true;
      }
      mine.all_s = seat.used_s();
      mine.longest_s = std::max(mine.longest_s, seat.used_s() - before_s);
    }
    // Nobody goes while the other may be waiting for it.
    ++ended;
    while (ended < 2 || turns.waiting() > 0) const StepTurns::Turn turn(seat);
  };
  std::thread slow([&] { work(had[0], std::chrono::milliseconds(8)); });
  std::thread quick([&] { work(had[1], std::chrono::milliseconds(1)); });
  slow.join();
  quick.join();
  EXPECT_GE(had[0].steps, 5);
  EXPECT_GE(had[1].steps, 5);
  EXPECT_LE(std::abs(had[0].all_s - had[1].all_s), std::max(had[0].longest_s, had[1].longest_s));
}

// Who has had less is left a moment to come back, and no longer.
TEST(StepTurns, WhoDoesNotComeBackHoldsNobodyUp) {
  StepTurns turns(std::chrono::milliseconds(1));
  StepTurns::Seat gone(&turns), stays(&turns);
  {
    const StepTurns::Turn turn(stays);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  std::atomic<int> steps = 0;
  std::thread other;
  {
    const StepTurns::Turn turn(gone);
    other = std::thread([&] {
      for (int i = 0; i < 3; ++i) {
        const StepTurns::Turn next(stays);
        ++steps;
      }
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (steps < 3 && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(steps, 3);
  // Where it was held up it is let go.
  while (steps < 3) const StepTurns::Turn turn(gone);
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
  std::promise<void> done;
  std::future<void> both = done.get_future();
  std::thread two([done = std::move(done)]() mutable {
    StepTurns::Seat seat(nullptr), another(nullptr);
    const StepTurns::Turn first(seat);
    const StepTurns::Turn second(another);
    done.set_value();
  });
  two.detach();  // should it wait, it waits for ever
  EXPECT_EQ(both.wait_for(std::chrono::minutes(2)), std::future_status::ready);
}

}  // namespace
}  // namespace paceline
