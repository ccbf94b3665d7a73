// The log goes on its way whether somebody reads it or not.
#include "server/log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>

namespace paceline {
namespace {

using Clock = std::chrono::steady_clock;

class LogTest : public testing::Test {
 protected:
  LogTest() { EXPECT_EQ(::pipe2(ends_, O_CLOEXEC), 0); }
  ~LogTest() override {
    if (ends_[0] >= 0) ::close(ends_[0]);
    // The other end stays open: a writer may still be left behind in it.
  }
  void close_reader() { ::close(std::exchange(ends_[0], -1)); }
  // What can be read within some time.
  std::string read_until(const std::string& wanted, std::chrono::milliseconds most = std::chrono::seconds(20)) {
    ::fcntl(ends_[0], F_SETFL, O_NONBLOCK);
    std::string text;
    for (const auto end = Clock::now() + most; Clock::now() < end;) {
      char bytes[4096];
      const ssize_t count = ::read(ends_[0], bytes, sizeof(bytes));
      if (count > 0) text.append(bytes, static_cast<size_t>(count));
      if (text.find(wanted) != std::string::npos) return text;
      if (count <= 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return text;
  }

  int ends_[2] = {-1, -1};
};

TEST_F(LogTest, LinesComeInOrderAndAreLines) {
  Log log(LogLevel::info, ends_[1]);
  log.info("first");
  log.debug("not this one");
  log.error("with\nbreak and \x1b[2J\x7f");
  log.info("last");
  const std::string text = read_until("last\n");
  EXPECT_NE(text.find("info first\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("not this one"), std::string::npos);
  EXPECT_NE(text.find("error with?break and ?[2J?\n"), std::string::npos) << text;
  EXPECT_LT(text.find("first"), text.find("last"));
  EXPECT_EQ(log.dropped(), 0);
}

TEST_F(LogTest, OnlyWhatShowsIsWritten) {
  Log log(LogLevel::info, ends_[1]);
  // A control sequence's introducer, as a character and as a byte; letters; a character cut short.
  log.info(
      "a\xc2\x9b"
      "2Jb\x9b"
      "2Jc é😀 \xf0\x9f|end");
  const std::string text = read_until("end\n");
  EXPECT_NE(text.find("info a?2Jb?2Jc é😀 ?|end\n"), std::string::npos) << text;
}

// More than a pipe and the queue hold; then somebody reads after all.
TEST_F(LogTest, NobodyWaitsForAReaderThatDoesNotRead) {
  const auto begin = Clock::now();
  {
    Log log(LogLevel::info, ends_[1]);
    for (int i = 0; i < 20'000; ++i) log.info("a line of a log, as long as those of requests are, about so long");
    EXPECT_GT(log.dropped(), 10'000);
    const std::string text = read_until("were dropped");
    EXPECT_NE(text.find("lines of this log were dropped"), std::string::npos);
    // The queue may still be full when that is read: what comes then is dropped as well.
    bool goes_on = false;
    for (int i = 0; i < 200 && !goes_on; ++i) {
      log.info("and on it goes");
      goes_on =
          read_until("and on it goes", std::chrono::milliseconds(100)).find("and on it goes") != std::string::npos;
    }
    EXPECT_TRUE(goes_on);
    // Full again, and left alone with it.
    for (int i = 0; i < 20'000; ++i) log.info("a line of a log, as long as those of requests are, about so long");
  }
  // Whoever waited would do so for ever: nobody reads.
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(120));
}

// Without care, SIGPIPE would end this program.
TEST_F(LogTest, AReaderThatGoesIsNoSignal) {
  Log log(LogLevel::info, ends_[1]);
  log.info("read");
  EXPECT_NE(read_until("read\n"), "");
  close_reader();
  log.info("not read");
  for (int i = 0; i < 2000 && log.dropped() == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(log.dropped(), 1);
}

}  // namespace
}  // namespace paceline
