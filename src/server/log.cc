#include "server/log.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace paceline {
namespace {

std::string line_of(LogLevel level, std::string_view text) {
  const auto now = std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
  const auto ms = now.time_since_epoch().count() % 1000;
  const char* name = level == LogLevel::error ? "error" : level == LogLevel::info ? "info" : "debug";
  std::string line =
      fmt::format("{:%FT%T}.{:03}Z {} {}\n", fmt::gmtime(std::chrono::system_clock::to_time_t(now)), ms, name, text);
  // What a client sent (a path) must not look like a line of its own, nor move the operator's cursor.
  std::replace_if(
      line.begin(), line.end() - 1, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '?');
  return line;
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
