// Lines on their way to a file that may not take them: a pipe whose reader has stopped, or has gone. They wait in a
// queue within bounds, and what does not fit is dropped and counted. Nobody who adds a line waits for anything.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace paceline {

struct LogQueueBounds {
  size_t lines = 4096;
  size_t bytes = size_t{1} << 20;
};

// May be used by several threads. A thread of its own writes.
class LogQueue {
 public:
  // The line that says how many were dropped.
  using SayDropped = std::function<std::string(int64_t lines)>;
  // `fd` stays the caller's, and open for as long as the process lives: a write that blocks is left behind.
  LogQueue(int fd, SayDropped say_dropped, const LogQueueBounds& bounds = {});
  // What is still there has a moment to be written; then it is given up.
  ~LogQueue();
  LogQueue(const LogQueue&) = delete;
  LogQueue& operator=(const LogQueue&) = delete;

  // A whole line, with its end.
  void add(std::string line);
  // Lines that nobody will read. Once lines can be written again, one says how many.
  [[nodiscard]] int64_t dropped() const;

 private:
  struct Shared;
  static void write_lines(const std::shared_ptr<Shared>& shared);

  std::shared_ptr<Shared> shared_;  // the writer's, too, which may outlive this
};

}  // namespace paceline
