// What is written arrives whole, whatever comes between.
#include "cli/console.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <thread>
#include <utility>

#include "cli/interrupt.h"

namespace paceline {
namespace {

// Standard output is a pipe while it lives.
class PipedOutput {
 public:
  PipedOutput() : before_(::dup(STDOUT_FILENO)) {
    (void)std::fflush(stdout);
    EXPECT_EQ(::pipe(ends_), 0);
    ::dup2(ends_[1], STDOUT_FILENO);
    ::close(ends_[1]);
  }
  ~PipedOutput() {
    end();
    ::close(ends_[0]);
  }
  PipedOutput(const PipedOutput&) = delete;
  PipedOutput& operator=(const PipedOutput&) = delete;

  void end() {
    if (before_ < 0) return;
    ::dup2(before_, STDOUT_FILENO);
    ::close(std::exchange(before_, -1));
  }
  std::string read_slowly() {
    std::string all, piece(4000, ' ');
    for (;;) {
      const ssize_t count = ::read(ends_[0], piece.data(), piece.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return all;
      all.append(piece, 0, static_cast<size_t>(count));
      // Longer than from signal to signal.
      std::this_thread::sleep_for(std::chrono::milliseconds(3));
    }
  }
  void wait_for_bytes(int count) const {
    for (int found = 0; found < count && ::ioctl(ends_[0], FIONREAD, &found) == 0;)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

 private:
  int before_;
  int ends_[2] = {};
};

std::string long_text() {
  std::string text;
  for (int i = 0; text.size() < 300000; ++i) text += std::to_string(i) + '\n';
  return text;
}

TEST(WrittenOutput, ASignalLosesNothing) {
  struct sigaction action {
  }, before{};
  action.sa_handler = [](int) {};  // without SA_RESTART, as for Ctrl-C
  sigaction(SIGALRM, &action, &before);
  const itimerval often{{0, 1000}, {0, 1000}}, never{};
  std::string found;
  {
    PipedOutput output;
    // The signal is for the one who writes.
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarm, nullptr);
    std::thread reader([&] { found = output.read_slowly(); });
    pthread_sigmask(SIG_UNBLOCK, &alarm, nullptr);
    setitimer(ITIMER_REAL, &often, nullptr);
    EXPECT_FALSE(write_out(long_text()));
    setitimer(ITIMER_REAL, &never, nullptr);
    output.end();
    reader.join();
  }
  sigaction(SIGALRM, &before, nullptr);
  EXPECT_EQ(found, long_text());
}

TEST(WrittenOutput, WaitsForAReaderThatIsSlow) {
  PipedOutput output;
  ::fcntl(STDOUT_FILENO, F_SETFL, ::fcntl(STDOUT_FILENO, F_GETFL) | O_NONBLOCK);
  std::string found;
  std::thread reader([&] { found = output.read_slowly(); });
  EXPECT_FALSE(write_out(long_text()));
  output.end();
  reader.join();
  EXPECT_EQ(found, long_text());
}

// Whether it comes before the wait for a reader or amid it.
TEST(WrittenOutput, CtrlCEndsWhatNobodyReads) {
  for (const bool comes_later : {false, true}) {
    const HeldInterrupts held;
    PipedOutput output;
    const pthread_t writer = ::pthread_self();
    std::thread presses([&] {
      if (comes_later) output.wait_for_bytes(4000);
      ::pthread_kill(writer, SIGINT);
    });
    if (!comes_later) presses.join();
    const std::error_code failed = write_out(long_text());
    if (comes_later) presses.join();
    output.end();
    EXPECT_EQ(failed, std::errc::interrupted);
    EXPECT_EQ(fail_to_write(failed), kExitInterrupted);
  }
}

// What can be written still is.
TEST(WrittenOutput, CtrlCLosesNothingThatFits) {
  const HeldInterrupts held;
  ::raise(SIGINT);
  PipedOutput output;
  const std::error_code failed = write_out("the end\n");
  output.end();
  EXPECT_FALSE(failed);
  EXPECT_EQ(output.read_slowly(), "the end\n");
}

}  // namespace
}  // namespace paceline
