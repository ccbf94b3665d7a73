#include "server/log.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>

#include "base/utf8.h"

namespace paceline {
namespace {

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

std::string line_of(LogLevel level, std::string_view text) {
  const auto now = std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
  const auto ms = now.time_since_epoch().count() % 1000;
  const char* name = level == LogLevel::error ? "error" : level == LogLevel::info ? "info" : "debug";
  return fmt::format("{:%FT%T}.{:03}Z {} {}\n", fmt::gmtime(std::chrono::system_clock::to_time_t(now)), ms, name,
                     harmless(text));
}

}  // namespace

Log::Log(LogLevel most, int fd)
    : most_(most), queue_(fd, [](int64_t lines) {
        return line_of(LogLevel::error, fmt::format("{} lines of this log were dropped: nobody read them", lines));
      }) {}

void Log::write(LogLevel level, std::string_view text) {
  if (writes(level)) queue_.add(line_of(level, text));
}

}  // namespace paceline
