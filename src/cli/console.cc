#include "cli/console.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>

#include "base/one_line.h"
#include "cli/interrupt.h"

namespace paceline {
namespace {

// Two paths and what is wrong with them have room; what else is longer has a text in it that somebody quotes.
constexpr size_t kMostLineBytes = 10000;

void line_on_stderr(std::string_view message) {
  tell("paceline: " + without_middle(one_line(message), kMostLineBytes) + "\n");
}

// Waits until more can be written. False: it cannot, and Ctrl-C was pressed.
bool wait_for_reader(int descriptor) {
  // Ctrl-C may come just before the wait begins: it is looked for now and then.
  constexpr int kWaitMs = 50;
  for (;;) {
    const bool gives_up = interrupted();
    pollfd ready{descriptor, POLLOUT, 0};
    const int found = ::poll(&ready, 1, gives_up ? 0 : kWaitMs);
    // What else is wrong, who writes is told.
    if (found > 0 || (found < 0 && errno != EINTR)) return true;
    if (found == 0 && gives_up) return false;
  }
}

// All of it, also where a signal comes between (a buffer of the standard library would lose what is left then) or the
// terminal takes no more for now.
std::error_code write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    if (!wait_for_reader(descriptor)) return std::make_error_code(std::errc::interrupted);
    // A pipe that takes something takes so much without a wait.
    const ssize_t put = ::write(descriptor, text.data(), std::min<size_t>(text.size(), PIPE_BUF));
    if (put >= 0) {
      text.remove_prefix(static_cast<size_t>(put));
    } else if (errno != EINTR && errno != EAGAIN) {
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
  if (error == std::errc::interrupted) return kExitInterrupted;
  return fail(kExitFailure, fmt::format("cannot write to standard output: {}", error.message()));
}

}  // namespace paceline
