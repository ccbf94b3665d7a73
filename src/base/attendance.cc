#include "base/attendance.h"

#include <algorithm>

namespace paceline {
namespace {

using namespace std::chrono_literals;
using Duration = Attendance::Clock::duration;

// Waiting that makes us doubt: so long, and a tenth of the time, within a window.
constexpr Duration kWindow = 20ms;
constexpr Duration kLost = 2ms;
// A trial sees several time slices of whoever is beside us.
constexpr Duration kTrial = 40ms;
constexpr int32_t kTrialLoops = 200;
// Sooner where one of both takes four times as long; and not for ever.
constexpr Duration kShortTrial = 20ms;
constexpr Duration kLongTrial = 120ms;
constexpr Duration kFirstPause = 200ms;
constexpr Duration kLongestPause = 3s;
constexpr int kPauseGrows = 3;
// What more threads must bring, of what they could: two programs that each gain a little by taking all cores both lose
// much by it.
constexpr double kLeastGain = 0.15, kLeastGainCrowded = 0.6;
// Crowded: kept from running for a fifth of the time.
constexpr Duration kAsk = 100ms;
constexpr int kCrowdedShare = 5;

int little_fewer(int threads) { return std::max(1, threads - std::max(1, threads / 8)); }
int half_of(int threads) { return std::max(1, threads / 2); }

}  // namespace

int Attendance::for_loop() {
  if (!trying()) return chosen_;
  dice_ ^= dice_ << 13;
  dice_ ^= dice_ >> 17;
  dice_ ^= dice_ << 5;
  return (dice_ & 1) != 0 ? many_ : few_;
}

void Attendance::took(uint64_t kind, int threads, Clock::duration time) {
  Kind& entry = kinds_[kind * 0x9e3779b97f4a7c15 >> 58];
  if (entry.name != kind) entry = {.name = kind};
  const size_t arm = threads == many_ ? 1 : 0;
  entry.time[arm] += time;
  spent_[arm] += time;
  ++entry.loops[arm];
  ++measured_;
}

void Attendance::waited(Clock::duration time, Clock::time_point now) {
  if (trying() || chosen_ == 1) return;
  if (now - window_begin_ > kWindow) {
    window_begin_ = now - time;
    lost_ = {};
  }
  lost_ += time;
  if (lost_ < kLost || lost_ * 10 < now - window_begin_) return;
  try_fewer(now);
}

bool Attendance::asks(Clock::time_point now) const { return now - asked_at_ >= kAsk; }

void Attendance::kept_waiting(Clock::duration in_all, Clock::time_point now) {
  crowded_ = (in_all - kept_) * kCrowdedShare > now - asked_at_;
  asked_at_ = now;
  kept_ = in_all;
  if (crowded_ && !trying() && chosen_ > 1) try_fewer(now);
}

void Attendance::try_fewer(Clock::time_point now) {
  if (now - since_ < pause_) return;
  begin(tries_half_ ? half_of(chosen_) : little_fewer(chosen_), chosen_, now);
}

void Attendance::look(Clock::time_point now) {
  if (trying()) {
    const Duration tried = now - since_;
    const bool plain = spent_[1] > spent_[0] * 4 || spent_[0] > spent_[1] * 4;
    if ((tried > kTrial && measured_ >= kTrialLoops) || (tried > kShortTrial && plain) || tried > kLongTrial) end(now);
  } else if (chosen_ < threads_ && now - since_ > pause_) {
    begin(chosen_, std::min(threads_, chosen_ + std::max(1, chosen_ / 8)), now);
  }
}

void Attendance::begin(int few, int many, Clock::time_point now) {
  few_ = few;
  many_ = many;
  kinds_.fill({});
  spent_ = {};
  measured_ = 0;
  since_ = now;
  called_.store(many, std::memory_order_relaxed);
}

void Attendance::end(Clock::time_point now) {
  double few = 0, many = 0;
  for (const Kind& kind : kinds_) {
    if (kind.loops[0] == 0 || kind.loops[1] == 0) continue;
    const double loops = kind.loops[0] + kind.loops[1];
    few += static_cast<double>(kind.time[0].count()) / kind.loops[0] * loops;
    many += static_cast<double>(kind.time[1].count()) / kind.loops[1] * loops;
  }
  const int before = chosen_;
  const double worth = 1 + (crowded_ ? kLeastGainCrowded : kLeastGain) * (static_cast<double>(many_) / few_ - 1);
  chosen_ = many * worth <= few ? many_ : few_;
  // Where a few threads less bring nothing, half of them may: a step in between may not be enough. What that confirms,
  // too, is tried again later and later.
  const bool goes_on = chosen_ == many_ && few_ > half_of(many_);
  tries_half_ = goes_on && chosen_ == before;
  const bool settled = chosen_ == before && !tries_half_;
  pause_ = settled ? std::clamp(pause_ * kPauseGrows, kFirstPause, kLongestPause) : kFirstPause;
  few_ = 0;
  since_ = now;
  window_begin_ = {};
  called_.store(chosen_, std::memory_order_relaxed);
}

}  // namespace paceline
