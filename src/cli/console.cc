#include "cli/console.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace paceline {
namespace {

void line_on_stderr(std::string_view message) {
  std::string line = "paceline: ";
  bool gap = false;
  for (const char c : message) {
    const bool blank = c == '\n' || c == '\r' || c == '\t' || c == ' ';
    if (!blank) {
      if (gap) line += ' ';
      line += c;
    }
    gap = blank;
  }
  line += '\n';
  tell(line);
}

// All of it, also where a signal comes between (a buffer of the standard library would lose what is left then) or the
// terminal takes no more for now.
std::error_code write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t put = ::write(descriptor, text.data(), text.size());
    if (put >= 0) {
      text.remove_prefix(static_cast<size_t>(put));
    } else if (errno == EAGAIN) {
      pollfd ready{descriptor, POLLOUT, 0};
      (void)::poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      return {errno, std::generic_category()};
    }
  }
  return {};
}

}  // namespace

int fail(int exit_code, std::string_view message) {
  line_on_stderr(message);
  return exit_code;
}

void remark(std::string_view message) { line_on_stderr(message); }

void tell(std::string_view text) {
  (void)std::fflush(stderr);
  (void)write_all(STDERR_FILENO, text);
}

bool stderr_is_terminal() { return isatty(STDERR_FILENO) != 0; }
bool stdin_is_terminal() { return isatty(STDIN_FILENO) != 0; }

bool stdout_is_terminal() { return isatty(STDOUT_FILENO) != 0; }

bool stdout_shows_colours() {
  const char* without = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  if (without != nullptr && *without != '\0') return false;
  if (terminal != nullptr && std::string_view(terminal) == "dumb") return false;
  return stdout_is_terminal();
}

std::error_code write_out(std::string_view text) {
  errno = 0;
  if (std::fflush(stdout) != 0) return {errno != 0 ? errno : EIO, std::generic_category()};
  return write_all(STDOUT_FILENO, text);
}

int fail_to_write(const std::error_code& error) {
  if (error == std::errc::broken_pipe) return kExitReaderGone;
  return fail(kExitFailure, fmt::format("cannot write to standard output: {}", error.message()));
}

}  // namespace paceline
