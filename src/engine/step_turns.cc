#include "engine/step_turns.h"

#include <algorithm>

namespace paceline {

StepTurns::Turn::Turn(Seat& seat) : seat_(seat) {
  if (seat_.turns_ == nullptr) return;
  seat_.turns_->take(seat_);
  began_ = std::chrono::steady_clock::now();
}

StepTurns::Turn::~Turn() {
  if (seat_.turns_ == nullptr) return;
  seat_.turns_->give(seat_, std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count());
}

void StepTurns::take(Seat& seat) {
  std::unique_lock lock(mutex_);
  seat.used_s_ = std::max(seat.used_s_, newest_s_);
  waiting_.push_back(&seat);
  changed_.wait(lock, [&] {
    const auto least = std::min_element(waiting_.begin(), waiting_.end(),
                                        [](const Seat* a, const Seat* b) { return a->used_s_ < b->used_s_; });
    return !is_taken_ && *least == &seat;
  });
  std::erase(waiting_, &seat);
  is_taken_ = true;
  newest_s_ = seat.used_s_;
}

void StepTurns::give(Seat& seat, double seconds) {
  const std::lock_guard lock(mutex_);
  seat.used_s_ += seconds;
  is_taken_ = false;
  changed_.notify_all();
}

}  // namespace paceline
