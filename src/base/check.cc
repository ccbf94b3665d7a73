#include "base/check.h"

#include <poll.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace paceline {

void check_failed(const char* condition, const char* file, int line) {
  // A full pipe that nobody reads must not keep alive what has to end.
  constexpr int kCheckPatience_ms = 1000;
  pollfd waits{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&waits, 1, kCheckPatience_ms) != 0)
    std::fprintf(stderr, "%s:%d: CHECK failed: %s\n", file, line, condition);
  std::abort();
}

}  // namespace paceline
