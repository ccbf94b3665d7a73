#include "server/key_guard.h"

#include <algorithm>
#include <cmath>

namespace paceline {
namespace {

constexpr int32_t kFreeAttempts = 3;
constexpr double kFirstDelay_s = 0.25, kLongestDelay_s = 5;
// Behind all others of its address.
constexpr double kLongestWait_s = 60;
constexpr std::chrono::minutes kForgotten{10};
// Of addresses that are remembered.
constexpr size_t kMostAddresses = 4096;
constexpr double kMinute_s = 60;

}  // namespace

double KeyAttempts::note_wrong(const std::string& address, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  if (seen_.size() >= kMostAddresses) {
    std::erase_if(seen_, [&](const auto& entry) { return now - entry.second.last > kForgotten; });
    // Whoever has so many addresses is not held up by what one of them did.
    if (seen_.size() >= kMostAddresses) seen_.clear();
  }
  Seen& seen = seen_[address];
  if (now - seen.last > kForgotten) seen.count = 0;
  seen.last = now;
  const int32_t beyond = ++seen.count - kFreeAttempts;
  if (beyond <= 0) return 0;
  const double delay_s = std::min(kLongestDelay_s, kFirstDelay_s * std::pow(2.0, std::min(beyond - 1, 10)));
  const double others_s = std::max(0.0, std::chrono::duration<double>(seen.answered - now).count());
  const double wait_s = std::min(others_s + delay_s, kLongestWait_s);
  seen.answered = now + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(wait_s));
  return wait_s;
}

KeyLimits::Left& KeyLimits::refilled(const Key& key, Clock::time_point now) {
  const auto requests = static_cast<double>(allowance_.requests_per_minute);
  const auto tokens = static_cast<double>(allowance_.tokens_per_minute);
  const auto [at, is_new] = left_.emplace(key, Left{requests, tokens, now});
  Left& left = at->second;
  if (is_new) return left;
  const double minutes = std::chrono::duration<double>(now - left.when).count() / kMinute_s;
  left.requests = std::min(requests, left.requests + requests * minutes);
  left.tokens = std::min(tokens, left.tokens + tokens * minutes);
  left.when = now;
  return left;
}

std::optional<double> KeyLimits::take_request(const Key& key, Clock::time_point now) {
  if (allowance_.requests_per_minute <= 0 && allowance_.tokens_per_minute <= 0) return std::nullopt;
  const std::lock_guard lock(mutex_);
  Left& left = refilled(key, now);
  double wait_s = 0;
  if (allowance_.requests_per_minute > 0 && left.requests < 1)
    wait_s = (1 - left.requests) / static_cast<double>(allowance_.requests_per_minute) * kMinute_s;
  if (allowance_.tokens_per_minute > 0 && left.tokens <= 0)
    wait_s = std::max(wait_s, (1 - left.tokens) / static_cast<double>(allowance_.tokens_per_minute) * kMinute_s);
  if (wait_s > 0) return wait_s;
  left.requests -= 1;
  return std::nullopt;
}

void KeyLimits::charge(const Key& key, int64_t tokens, Clock::time_point now) {
  if (allowance_.tokens_per_minute <= 0) return;
  const std::lock_guard lock(mutex_);
  refilled(key, now).tokens -= static_cast<double>(tokens);
}

}  // namespace paceline
