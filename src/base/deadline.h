// How long some work may take, asked for between its steps. It is the time of the thread that does it: one that has to
// wait while others compute is not to blame.
#pragma once

#include <chrono>
#include <ctime>

namespace paceline {

// Made and asked by the same thread.
class Deadline {
 public:
  explicit Deadline(std::chrono::milliseconds time) : end_(now() + time) {}
  [[nodiscard]] bool passed() const { return now() >= end_; }

 private:
  static std::chrono::nanoseconds now() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  }

  std::chrono::nanoseconds end_;
};

}  // namespace paceline
