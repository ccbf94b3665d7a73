#include "server/console/console_sessions.h"

#include <fmt/format.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

namespace paceline {
namespace {

constexpr std::string_view kCookie = "paceline_session";
constexpr size_t kMostSessions = 1024, kMostAddresses = 4096, kAttemptsPerMinute = 5;

// "": there is none.
std::string_view cookie_value(std::string_view cookies) {
  while (!cookies.empty()) {
    const size_t end = std::min(cookies.find(';'), cookies.size());
    std::string_view one = cookies.substr(0, end);
    cookies.remove_prefix(std::min(end + 1, cookies.size()));
    while (one.starts_with(' ')) one.remove_prefix(1);
    if (one.starts_with(kCookie) && one.substr(kCookie.size()).starts_with('=')) return one.substr(kCookie.size() + 1);
  }
  return {};
}

std::array<unsigned char, 32> cookie_digest(std::string_view value) {
  std::array<unsigned char, 32> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(value.data()), value.size(), digest.data());
  return digest;
}

std::string cookie_header(std::string_view value, long seconds) {
  return fmt::format("{}={}; Path=/; HttpOnly; SameSite=Strict; Max-Age={}", kCookie, value, seconds);
}

}  // namespace

std::string ConsoleSessions::begin(const SessionOwner& owner, Clock::time_point now) {
  std::array<unsigned char, 32> chance{};
  if (RAND_bytes(chance.data(), static_cast<int>(chance.size())) != 1) return goodbye();
  std::string value;
  for (const unsigned char byte : chance) value += fmt::format("{:02x}", byte);
  const std::lock_guard lock(mutex_);
  std::erase_if(sessions_, [&](const auto& entry) { return entry.second.until <= now; });
  if (sessions_.size() >= kMostSessions) sessions_.clear();
  sessions_[cookie_digest(value)] = {owner, now + kLasts};
  return cookie_header(value, std::chrono::seconds(kLasts).count());
}

std::string ConsoleSessions::goodbye() { return cookie_header("", 0); }

std::optional<SessionOwner> ConsoleSessions::find(std::string_view cookies, Clock::time_point now) {
  const std::string_view value = cookie_value(cookies);
  if (value.empty()) return std::nullopt;
  const std::lock_guard lock(mutex_);
  const auto found = sessions_.find(cookie_digest(value));
  if (found == sessions_.end() || found->second.until <= now) return std::nullopt;
  return found->second.owner;
}

void ConsoleSessions::end(std::string_view cookies) {
  const std::lock_guard lock(mutex_);
  sessions_.erase(cookie_digest(cookie_value(cookies)));
}

double ConsoleSessions::try_from(const std::string& address, Clock::time_point now) {
  constexpr std::chrono::seconds kMinute{60};
  const std::lock_guard lock(mutex_);
  if (attempts_.size() >= kMostAddresses) attempts_.clear();
  auto& times = attempts_[address];
  while (!times.empty() && times.front() + kMinute <= now) times.pop_front();
  if (times.size() >= kAttemptsPerMinute) return std::chrono::duration<double>(times.front() + kMinute - now).count();
  times.push_back(now);
  return 0;
}

}  // namespace paceline
