// How long some work may take, asked for between its steps. It is the time of the thread that does it: one that has to
// wait while others compute is not to blame.
#pragma once

#include <chrono>
#include <ctime>
#include <functional>

namespace paceline {

// Made and asked by the same thread.
class Deadline {
 public:
  // stops: whether nobody wants it any more, which is the same as being late; may be none, and outlives this.
  explicit Deadline(std::chrono::milliseconds time, const std::function<bool()>* stops = nullptr)
      : end_(now() + time), stops_(stops) {}
  [[nodiscard]] bool passed() const { return (stops_ != nullptr && (*stops_)()) || now() >= end_; }

 private:
  static std::chrono::nanoseconds now() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  }

  std::chrono::nanoseconds end_;
  const std::function<bool()>* stops_;
};

}  // namespace paceline
