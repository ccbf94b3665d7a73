#include "base/attendance.h"

#include <gtest/gtest.h>

namespace paceline {
namespace {

using namespace std::chrono_literals;

// A machine in fast motion: what a loop takes with so many threads, and the time that its caller waits.
class FullMachine {
 public:
  explicit FullMachine(int threads) : attendance(threads) {}

  template <class Time>
  void run(Attendance::Clock::duration span, const Time& time) {
    const Attendance::Clock::time_point end = now_ + span;
    for (uint64_t loop = 0; now_ < end; ++loop) {
      if (attendance.chosen() < most || attendance.trying()) attendance.look(now_);
      const bool trying = attendance.trying();
      const int threads = attendance.for_loop();
      const uint64_t kind = loop % 5;
      const auto [work, waited] = time(threads, loop);
      const Attendance::Clock::duration took = work * static_cast<int64_t>(kind + 1);
      now_ += took + waited;
      if (waited > 0us) attendance.waited(waited, now_);
      if (trying) attendance.took(kind, threads, took + waited);
      most = std::max(most, threads);
      kept_ += (took + waited) * kept_percent / 100;
      if (attendance.asks(now_)) attendance.kept_waiting(kept_, now_);
    }
  }

  Attendance attendance;
  int most = 1;
  int kept_percent = 0;  // of the time, without a core

 private:
  Attendance::Clock::time_point now_{1s};
  Attendance::Clock::duration kept_{};
};

struct Took {
  Attendance::Clock::duration work, waited;
};

// With the machine to oneself all threads take part, at all times.
TEST(Attendance, AllWhereNobodyWaits) {
  FullMachine machine(4);
  machine.run(2s, [](int threads, uint64_t) { return Took{40us / threads, 0us}; });
  EXPECT_EQ(machine.attendance.chosen(), 4);
  EXPECT_FALSE(machine.attendance.trying());
}

// A core that is somebody else's half of the time: every tenth loop with all threads waits for a time slice.
TEST(Attendance, FewerWhereACoreIsTakenAway) {
  FullMachine machine(2);
  machine.run(2s, [](int threads, uint64_t loop) {
    return Took{40us / threads, threads == 2 && loop % 10 == 0 ? 4ms : 0ms};
  });
  EXPECT_EQ(machine.attendance.chosen(), 1);
  // And all again within seconds, once the other has gone.
  machine.run(3s, [](int threads, uint64_t) { return Took{40us / threads, 0us}; });
  EXPECT_EQ(machine.attendance.chosen(), 2);
}

// Waiting alone is no reason: where two are faster all the same, two it is.
TEST(Attendance, WaitingThatPays) {
  FullMachine machine(2);
  machine.run(2s, [](int threads, uint64_t loop) {
    return Took{4ms / threads, threads == 2 && loop % 3 == 0 ? 1ms : 0ms};
  });
  machine.run(200ms, [](int threads, uint64_t) { return Took{4ms / threads, 0us}; });
  EXPECT_EQ(machine.attendance.chosen(), 2);
}

// More wish to run than there are cores, and whoever takes two still gets more than with one: not enough to take them.
TEST(Attendance, WhoIsKeptWaitingTakesFewer) {
  for (const int share : {0, 40}) {
    FullMachine machine(2);
    machine.kept_percent = share;
    machine.run(2s, [](int threads, uint64_t) { return Took{threads == 2 ? 28us : 40us, 0us}; });
    EXPECT_EQ(machine.attendance.chosen(), share == 0 ? 2 : 1);
    // It is over, and two again.
    machine.kept_percent = 0;
    machine.run(4s, [](int threads, uint64_t) { return Took{threads == 2 ? 28us : 40us, 0us}; });
    EXPECT_EQ(machine.attendance.chosen(), 2);
  }
}

// Half of sixteen cores are busy.
TEST(Attendance, ManyGiveWayStepByStep) {
  FullMachine machine(16);
  machine.run(4s, [](int threads, uint64_t loop) {
    return Took{160us / threads, threads > 8 && loop % 10 == 0 ? 2ms : 0ms};
  });
  EXPECT_LE(machine.attendance.chosen(), 9);
  EXPECT_GE(machine.attendance.chosen(), 6);
}

}  // namespace
}  // namespace paceline
