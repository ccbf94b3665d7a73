// The server's log: one line per event on stderr. Prompts and outputs are never in it.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

namespace paceline {

enum class LogLevel : uint8_t { error, info, debug };

// May be used by several threads.
class Log {
 public:
  explicit Log(LogLevel most) : most_(most) {}

  void error(std::string_view text) { write(LogLevel::error, text); }
  void info(std::string_view text) { write(LogLevel::info, text); }
  void debug(std::string_view text) { write(LogLevel::debug, text); }
  [[nodiscard]] bool writes(LogLevel level) const { return level <= most_; }

 private:
  void write(LogLevel level, std::string_view text);

  LogLevel most_;
  std::mutex mutex_;
};

}  // namespace paceline
