// How many threads of a pool take part in its loops. Where a core is taken away from one of them in the middle of a
// piece, the others wait for it, for milliseconds: beside other programs fewer threads may be faster. So once waiting
// has taken too long, loops run for a while with more and with fewer threads by turns, loops of one kind are compared
// with each other, and the faster number stays until it is tried again. Where the caller itself waits for a core, more
// wish to run than there are cores: then each who takes several takes them from others who do the same, and all of them
// lose; more threads must be faster by much.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace paceline {

class Attendance {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Attendance(int threads) : threads_(threads), chosen_(threads), called_(threads) {}

  // Threads that may be called now; others may as well sleep.
  [[nodiscard]] int called() const { return called_.load(std::memory_order_relaxed); }
  [[nodiscard]] int chosen() const { return chosen_; }
  [[nodiscard]] bool trying() const { return few_ != 0; }
  // Threads for the next loop.
  int for_loop();
  // How long a loop of this kind took with so many, while trying.
  void took(uint64_t kind, int threads, Clock::duration time);
  // A loop has ended at `now`; its caller had waited for the others that long.
  void waited(Clock::duration time, Clock::time_point now);
  // How long the caller has been kept from running since it began; wanted now and then.
  [[nodiscard]] bool asks(Clock::time_point now) const;
  void kept_waiting(Clock::duration in_all, Clock::time_point now);
  // Now and then, while trying and where fewer are chosen than there are: ends and begins trials.
  void look(Clock::time_point now);

 private:
  struct Kind {
    uint64_t name = 0;
    std::array<Clock::duration, 2> time{};  // with few, with many
    std::array<int32_t, 2> loops{};
  };

  void begin(int few, int many, Clock::time_point now);
  void try_fewer(Clock::time_point now);
  void end(Clock::time_point now);

  int threads_;
  int chosen_;
  std::atomic<int> called_;
  // The trial, where one is on: few_ is not 0.
  int few_ = 0, many_ = 0;
  bool tries_half_ = false;  // next
  uint32_t dice_ = 1;
  int32_t measured_ = 0;
  std::array<Clock::duration, 2> spent_{};
  std::array<Kind, 64> kinds_;
  // Since when: the trial, or the choice.
  Clock::time_point since_{};
  Clock::duration pause_{};
  Clock::time_point window_begin_{};
  Clock::duration lost_{};
  bool crowded_ = false;
  Clock::time_point asked_at_{};
  Clock::duration kept_{};
};

}  // namespace paceline
