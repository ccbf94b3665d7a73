// Engines on one machine take turns, step by step: who has had the least time goes first, so that a long prompt on one
// does not hold up what another writes. Between two steps an engine is away for an instant: where it has still had less
// than those who wait, they leave it a moment to come back, or short steps and long ones would simply alternate.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <vector>

namespace paceline {

// May be used by several threads, each with a seat of its own.
class StepTurns {
 public:
  explicit StepTurns(std::chrono::microseconds patience = std::chrono::milliseconds(1)) : patience_(patience) {}

  // Of one engine.
  class Seat {
   public:
    // Turns may be none: then nobody waits.
    explicit Seat(StepTurns* turns) : turns_(turns) {}
    // What its turns took; between two of them, for its own thread.
    [[nodiscard]] double used_s() const { return used_s_; }

   private:
    friend class StepTurns;
    StepTurns* turns_;
    double used_s_ = 0;
  };

  // Held for one step.
  class Turn {
   public:
    explicit Turn(Seat& seat);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    Seat& seat_;
    std::chrono::steady_clock::time_point began_;
  };

  // Seats that wait for their turn now.
  [[nodiscard]] size_t waiting();

 private:
  void take(Seat& seat);
  // Of those who wait the one with the least time.
  [[nodiscard]] Seat* next() const;
  void give(Seat& seat, double seconds);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Seat*> waiting_;
  bool is_taken_ = false;
  std::chrono::microseconds patience_;
  const Seat* awaited_ = nullptr;  // has just given up its turn, and may come back until then
  std::chrono::steady_clock::time_point awaited_until_;
  double newest_s_ = 0;  // what the one that went last had had: who was idle begins there, and has saved up nothing
};

}  // namespace paceline
