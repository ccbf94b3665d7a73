// Who is logged in to the console: a key is shown once, and from then on a cookie stands for it. Kept in memory alone.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace paceline {

// What the key was that a session stands for.
struct SessionOwner {
  std::optional<size_t> key;  // which of the API keys; none: of no client
  bool is_admin = false;
};

// May be used by several threads.
class ConsoleSessions {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::hours kLasts{12};

  // The value of the header Set-Cookie; that of one who leaves.
  std::string begin(const SessionOwner& owner, Clock::time_point now = Clock::now());
  static std::string goodbye();
  // cookies: the header Cookie.
  std::optional<SessionOwner> find(std::string_view cookies, Clock::time_point now = Clock::now());
  void end(std::string_view cookies);

  // Seconds until the address may try another key; 0: now. An attempt is counted where it may.
  double try_from(const std::string& address, Clock::time_point now = Clock::now());

 private:
  // Of the cookie's value: whoever reads this memory has no session yet.
  using Digest = std::array<unsigned char, 32>;
  struct Session {
    SessionOwner owner;
    Clock::time_point until;
  };
  std::mutex mutex_;
  std::map<Digest, Session> sessions_;
  std::map<std::string, std::deque<Clock::time_point>> attempts_;
};

}  // namespace paceline
