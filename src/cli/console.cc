#include "cli/console.h"

#include <fmt/format.h>
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

}  // namespace

int fail(int exit_code, std::string_view message) {
  line_on_stderr(message);
  return exit_code;
}

void remark(std::string_view message) { line_on_stderr(message); }

void tell(std::string_view text) {
  (void)std::fwrite(text.data(), 1, text.size(), stderr);
  (void)std::fflush(stderr);
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
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return {};
  return {errno != 0 ? errno : EIO, std::generic_category()};
}

int fail_to_write(const std::error_code& error) {
  if (error == std::errc::broken_pipe) return kExitReaderGone;
  return fail(kExitFailure, fmt::format("cannot write to standard output: {}", error.message()));
}

}  // namespace paceline
