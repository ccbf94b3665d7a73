#include "cli/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "cli/console.h"

namespace paceline {
namespace {

constexpr int kBarWidth = 28;
// Often enough to look alive, seldom enough to cost nothing on a slow line.
constexpr auto kRedrawEvery = std::chrono::milliseconds(80);
constexpr std::string_view kEraseLine = "\r\033[K";

}  // namespace

std::string progress_line(std::string_view label, int64_t done, int64_t total, int width) {
  static constexpr std::array<std::string_view, 8> kEighths{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const double share = total > 0 ? std::clamp(static_cast<double>(done) / static_cast<double>(total), 0.0, 1.0) : 0.0;
  const int eighths = static_cast<int>(share * width * 8);
  std::string bar;
  for (int i = 0; i < eighths / 8; ++i) bar += "█";
  bar += kEighths[eighths % 8];
  const int drawn = eighths / 8 + (eighths % 8 > 0 ? 1 : 0);
  bar.append(static_cast<size_t>(width - drawn), ' ');
  return fmt::format("{}  {} {:3.0f} %  {} of {}", label, bar, share * 100, done, total);
}

void ProgressBar::update(int64_t done, int64_t total) {
  if (!shown_) return;
  const auto now = std::chrono::steady_clock::now();
  if (drawn_ && done < total && now - last_drawn_ < kRedrawEvery) return;
  tell(fmt::format("{}{}", kEraseLine, progress_line(label_, done, total, kBarWidth)));
  drawn_ = true;
  last_drawn_ = now;
}

void ProgressBar::clear() {
  if (!drawn_) return;
  tell(kEraseLine);
  drawn_ = false;
}

}  // namespace paceline
