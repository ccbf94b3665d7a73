// Our own mistakes end the program, with a word where somebody hears it.
#include "base/check.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <string>
#include <thread>

namespace paceline {
namespace {

// The signal that ended it; 0: it did not end.
int signal_of(pid_t child) {
  for (int i = 0; i < 2000; ++i) {
    int status = 0;
    if (::waitpid(child, &status, WNOHANG) == child) return WIFSIGNALED(status) ? WTERMSIG(status) : -1;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  return 0;
}

// A child that fails a CHECK, with this end of a pipe as its stderr.
pid_t failing_child(int stderr_fd) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::dup2(stderr_fd, STDERR_FILENO);
  CHECK(1 + 1 == 3);
  ::_exit(0);
}

TEST(CheckTest, SaysWhatFailedAndEnds) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  EXPECT_EQ(signal_of(failing_child(ends[1])), SIGABRT);
  ::close(ends[1]);
  char text[512] = {};
  EXPECT_GT(::read(ends[0], text, sizeof(text) - 1), 0);
  EXPECT_NE(std::string(text).find("CHECK failed: 1 + 1 == 3"), std::string::npos) << text;
  ::close(ends[0]);
}

TEST(CheckTest, EndsWhereNobodyReads) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::fcntl(ends[1], F_SETFL, O_NONBLOCK);
  while (::write(ends[1], "x", 1) == 1) {
  }
  ::fcntl(ends[1], F_SETFL, 0);
  EXPECT_EQ(signal_of(failing_child(ends[1])), SIGABRT);
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace paceline
