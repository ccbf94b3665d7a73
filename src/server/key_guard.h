// What stands behind API keys: guesses are slowed down, and each key has so much for a minute.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace paceline {

// Keys that were wrong, by the address that they came from. May be used by several threads.
class KeyAttempts {
 public:
  using Clock = std::chrono::steady_clock;

  // Another one: seconds until it is answered. The first few cost nothing, and what is long ago is forgotten. Those of
  // one address are answered one after the other, however many come at once.
  double note_wrong(const std::string& address, Clock::time_point now = Clock::now());

 private:
  struct Seen {
    int32_t count = 0;
    Clock::time_point last;
    Clock::time_point answered;  // when all that came before have been
  };
  std::mutex mutex_;
  std::map<std::string, Seen> seen_;
};

// 0: no limit.
struct KeyAllowance {
  int64_t requests_per_minute = 0, tokens_per_minute = 0;
};

// What each key has left; without keys all are one. May be used by several threads.
class KeyLimits {
 public:
  using Clock = std::chrono::steady_clock;
  using Key = std::optional<size_t>;

  explicit KeyLimits(const KeyAllowance& allowance) : allowance_(allowance) {}

  // A request begins. Seconds until it may, where it may not now.
  std::optional<double> take_request(const Key& key, Clock::time_point now = Clock::now());
  // So many tokens were read and written for it; what is too much is waited for by those who come later.
  void charge(const Key& key, int64_t tokens, Clock::time_point now = Clock::now());

 private:
  struct Left {
    double requests = 0, tokens = 0;
    Clock::time_point when;
  };
  Left& refilled(const Key& key, Clock::time_point now);

  const KeyAllowance allowance_;
  std::mutex mutex_;
  std::map<Key, Left> left_;
};

}  // namespace paceline
