// The server's log: one line per event on stderr. Prompts and outputs are never in it. Whether somebody reads it makes
// no difference to the server: what is not read is dropped.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "server/log_queue.h"

namespace paceline {

enum class LogLevel : uint8_t { error, info, debug };

// May be used by several threads; none of them waits.
class Log {
 public:
  explicit Log(LogLevel most, int fd = STDERR_FILENO);

  void error(std::string_view text) { write(LogLevel::error, text); }
  void info(std::string_view text) { write(LogLevel::info, text); }
  void debug(std::string_view text) { write(LogLevel::debug, text); }
  [[nodiscard]] bool writes(LogLevel level) const { return level <= most_; }
  [[nodiscard]] int64_t dropped() const { return queue_.dropped(); }

 private:
  void write(LogLevel level, std::string_view text);

  LogLevel most_;
  LogQueue queue_;
};

}  // namespace paceline
