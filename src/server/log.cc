#include "server/log.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "base/utf8.h"

namespace paceline {
namespace {

constexpr size_t kKeptLines = 2000;

// What a client sent (a path) must not look like a line of its own, nor move the operator's cursor: control characters,
// those beyond ASCII too, and bytes that are no characters are not written.
std::string harmless(std::string_view text) {
  std::string made;
  while (!text.empty()) {
    const Utf8Front front = utf8_front(text);
    const bool shows =
        front.state == Utf8State::complete && front.code >= 0x20 && (front.code < 0x7f || front.code > 0x9f);
    if (shows) {
      made += text.substr(0, front.bytes);
    } else {
      made += '?';
    }
    text.remove_prefix(front.bytes);
  }
  return made;
}

std::string_view log_level_name(LogLevel level) {
  return level == LogLevel::error ? "error" : level == LogLevel::info ? "info" : "debug";
}

std::string line_of(LogLevel level, std::string_view text) {
  const auto now = std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
  const auto ms = now.time_since_epoch().count() % 1000;
  return fmt::format("{:%FT%T}.{:03}Z {} {}\n", fmt::gmtime(std::chrono::system_clock::to_time_t(now)), ms,
                     log_level_name(level), harmless(text));
}

std::optional<LogLevel> level_of(std::string_view name) {
  for (const LogLevel level : {LogLevel::error, LogLevel::info, LogLevel::debug}) {
    if (log_level_name(level) == name) return level;
  }
  return std::nullopt;
}

}  // namespace

Log::Log(LogLevel most, int fd)
    : most_(most), queue_(fd, [](int64_t lines) {
        return line_of(LogLevel::error, fmt::format("{} lines of this log were dropped: nobody read them", lines));
      }) {}

void Log::write(LogLevel level, std::string_view text) {
  if (!writes(level)) return;
  std::string line = line_of(level, text);
  {
    const std::lock_guard lock(kept_mutex_);
    kept_.push_back(line.substr(0, line.size() - 1));
    if (kept_.size() > kKeptLines) kept_.pop_front();
    ++written_;
  }
  queue_.add(std::move(line));
}

bool Log::is_level(std::string_view name) { return level_of(name).has_value(); }

bool Log::set_level(std::string_view name) {
  const auto level = level_of(name);
  if (level) most_ = *level;
  return level.has_value();
}

std::string_view Log::level_name() const { return log_level_name(most_); }

Log::Lines Log::lines_behind(int64_t seen) const {
  const std::lock_guard lock(kept_mutex_);
  const auto here = static_cast<int64_t>(kept_.size());
  const int64_t first = std::clamp<int64_t>(seen - (written_ - here), 0, here);
  return {written_, {kept_.begin() + first, kept_.end()}};
}

}  // namespace paceline
