// How long decoding may take, looked at between rows, frames or packets.
#pragma once

#include <chrono>

namespace paceline {

inline constexpr const char* kTooSlow = "decoding took longer than it may";

class Deadline {
 public:
  explicit Deadline(std::chrono::milliseconds time) : end_(std::chrono::steady_clock::now() + time) {}
  [[nodiscard]] bool passed() const { return std::chrono::steady_clock::now() >= end_; }

 private:
  std::chrono::steady_clock::time_point end_;
};

}  // namespace paceline
