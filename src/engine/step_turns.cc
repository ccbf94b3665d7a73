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

size_t StepTurns::waiting() {
  const std::lock_guard lock(mutex_);
  return waiting_.size();
}

StepTurns::Seat* StepTurns::next() const {
  const auto least = std::min_element(waiting_.begin(), waiting_.end(),
                                      [](const Seat* a, const Seat* b) { return a->used_s_ < b->used_s_; });
  return least == waiting_.end() ? nullptr : *least;
}

void StepTurns::take(Seat& seat) {
  std::unique_lock lock(mutex_);
  seat.used_s_ = std::max(seat.used_s_, newest_s_);
  waiting_.push_back(&seat);
  if (awaited_ == &seat) {
    awaited_ = nullptr;
    changed_.notify_all();
  }
  while (is_taken_ || next() != &seat || awaited_ != nullptr) {
    if (awaited_ == nullptr) {
      changed_.wait(lock);
    } else if (changed_.wait_until(lock, awaited_until_) == std::cv_status::timeout) {
      awaited_ = nullptr;
      changed_.notify_all();
    }
  }
  std::erase(waiting_, &seat);
  is_taken_ = true;
  newest_s_ = seat.used_s_;
}

void StepTurns::give(Seat& seat, double seconds) {
  const std::lock_guard lock(mutex_);
  seat.used_s_ += seconds;
  is_taken_ = false;
  if (const Seat* other = next(); other != nullptr && seat.used_s_ < other->used_s_) {
    awaited_ = &seat;
    awaited_until_ = std::chrono::steady_clock::now() + patience_;
  }
  changed_.notify_all();
}

}  // namespace paceline
