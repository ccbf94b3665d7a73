// A progress bar on stderr: one line, redrawn in place, gone when its work is done.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace paceline {

// "label  ██████▌        45 %  9 of 20 units"; width: of the bar, in characters.
std::string progress_line(std::string_view label, int64_t done, int64_t total, int width);

class ProgressBar {
 public:
  // A bar that is not shown costs nothing.
  ProgressBar(std::string label, bool shown) : label_(std::move(label)), shown_(shown) {}
  ~ProgressBar() { clear(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void update(int64_t done, int64_t total);
  // Takes the line away, so that what follows starts on a clean one.
  void clear();

 private:
  std::string label_;
  bool shown_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point last_drawn_{};
};

}  // namespace paceline
