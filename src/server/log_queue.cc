#include "server/log_queue.h"

#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

namespace paceline {
namespace {

// For the last lines of a log that ends.
constexpr std::chrono::milliseconds kLastLines{500};
// How long a file that takes nothing is waited for at once, before the queue's end is looked for.
constexpr int kPatience_ms = 100;
// A pipe that can be written to takes so many bytes without blocking (POSIX: PIPE_BUF is at least 512; Linux: 4096).
constexpr size_t kPiece = 512;

// A reader that has gone is an error of write(), and not a signal that ends the process.
void refuse_broken_pipes() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

enum class Written : uint8_t { all, not_now, never };

// A piece at most, and only where it does not block.
Written write_piece(int fd, std::string_view& text) {
  pollfd waits{fd, POLLOUT, 0};
  const int ready = ::poll(&waits, 1, kPatience_ms);
  if (ready == 0 || (ready < 0 && errno == EINTR)) return Written::not_now;
  if (ready < 0 || (waits.revents & POLLNVAL) != 0) return Written::never;
  const std::string_view piece = text.substr(0, kPiece);
  // A socket, as a service's log may be, can have less room than poll() says.
  ssize_t count = ::send(fd, piece.data(), piece.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (count < 0 && errno == ENOTSOCK) count = ::write(fd, piece.data(), piece.size());
  if (count < 0) {
    const bool later = errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK;
    return later ? Written::not_now : Written::never;
  }
  text.remove_prefix(static_cast<size_t>(count));
  return text.empty() ? Written::all : Written::not_now;
}

}  // namespace

struct LogQueue::Shared {
  int fd = -1;
  SayDropped say_dropped;
  LogQueueBounds bounds;
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::string> lines;
  size_t bytes = 0;
  int64_t dropped = 0, told = 0;  // told: of those dropped, what a line has said
  bool ending = false, ended = false;

  // The next line; none: it is over.
  std::optional<std::string> next() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return ending || !lines.empty(); });
    if (lines.empty()) return std::nullopt;
    std::string line = std::move(lines.front());
    lines.pop_front();
    bytes -= line.size();
    return line;
  }

  // Whether all of it was written. One that cannot be is waited for, unless it is over.
  bool write(std::string_view text) {
    while (true) {
      switch (write_piece(fd, text)) {
        case Written::all: return true;
        case Written::never: return false;
        case Written::not_now: break;
      }
      const std::lock_guard lock(mutex);
      if (ended) return false;
    }
  }

  void drop() {
    const std::lock_guard lock(mutex);
    ++dropped;
  }

  // Behind a line that was written: what is missing.
  void tell_dropped() {
    int64_t all = 0, more = 0;
    {
      const std::lock_guard lock(mutex);
      all = dropped;
      more = dropped - told;
    }
    if (more == 0) return;
    if (!write(say_dropped(more))) return;
    const std::lock_guard lock(mutex);
    told = all;
  }
};

LogQueue::LogQueue(int fd, SayDropped say_dropped, const LogQueueBounds& bounds) : shared_(std::make_shared<Shared>()) {
  shared_->fd = fd;
  shared_->say_dropped = std::move(say_dropped);
  shared_->bounds = bounds;
  std::thread(write_lines, shared_).detach();
}

void LogQueue::write_lines(const std::shared_ptr<Shared>& shared) {
  refuse_broken_pipes();
  while (auto line = shared->next()) {
    if (shared->write(*line)) {
      shared->tell_dropped();
    } else {
      shared->drop();
    }
  }
  const std::lock_guard lock(shared->mutex);
  shared->ended = true;
  shared->changed.notify_all();
}

LogQueue::~LogQueue() {
  std::unique_lock lock(shared_->mutex);
  shared_->ending = true;
  shared_->changed.notify_all();
  shared_->changed.wait_for(lock, kLastLines, [this] { return shared_->ended; });
  shared_->ended = true;
}

void LogQueue::add(std::string line) {
  const std::lock_guard lock(shared_->mutex);
  if (shared_->lines.size() >= shared_->bounds.lines || shared_->bytes + line.size() > shared_->bounds.bytes) {
    ++shared_->dropped;
    return;
  }
  shared_->bytes += line.size();
  shared_->lines.push_back(std::move(line));
  shared_->changed.notify_one();
}

int64_t LogQueue::dropped() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->dropped;
}

}  // namespace paceline
