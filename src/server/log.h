// The server's log: one line per event on stderr. Prompts and outputs are never in it. Whether somebody reads it makes
// no difference to the server: what is not read is dropped.
#pragma once

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

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
  [[nodiscard]] bool writes(LogLevel level) const { return level <= most_.load(); }
  // As the settings call it. False: there is no such level.
  static bool is_level(std::string_view name);
  bool set_level(std::string_view name);
  [[nodiscard]] std::string_view level_name() const;

  // The last lines, as many as are kept, behind those that somebody has seen.
  struct Lines {
    int64_t next = 0;  // to be asked for with, the next time
    std::vector<std::string> lines;
  };
  [[nodiscard]] Lines lines_behind(int64_t seen) const;
  [[nodiscard]] int64_t dropped() const { return queue_.dropped(); }

 private:
  void write(LogLevel level, std::string_view text);

  std::atomic<LogLevel> most_;
  LogQueue queue_;
  mutable std::mutex kept_mutex_;
  std::deque<std::string> kept_;
  int64_t written_ = 0;  // in all
};

}  // namespace paceline
