// The settings of the server, from wherever they come; and the program that serves, as operators meet it.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <utility>

#include "cli/serve_options.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;

class ServeOptionsTest : public testing::Test {
 protected:
  ServeOptionsTest() : file_(fs::temp_directory_path() / ("paceline_serve_test_" + std::to_string(getpid()))) {
    add_serve_options(command_, options_);
  }
  ~ServeOptionsTest() override {
    fs::remove(file_);
    ::unsetenv("PACELINE_PORT");
    ::unsetenv("PACELINE_API_KEYS");
  }

  std::string file(const std::string& text) {
    std::ofstream(file_) << text;
    return file_.string();
  }

  ServeOptions options_;
  CLI::App command_{"serve"};
  fs::path file_;
};

TEST_F(ServeOptionsTest, EachHasAnEnvironmentVariableAndIsWrittenDown) {
  std::stringstream manual;
  manual << std::ifstream(PACELINE_SOURCE_DIR "/docs/serving.md").rdbuf();
  int count = 0;
  for (const CLI::Option* option : command_.get_options()) {
    if (option->get_name() == "--help") continue;
    EXPECT_TRUE(option->get_envname().starts_with("PACELINE_")) << option->get_name();
    EXPECT_FALSE(option->get_description().empty()) << option->get_name();
    EXPECT_NE(manual.str().find("--" + option->get_lnames().front() + " "), std::string::npos) << option->get_name();
    EXPECT_NE(option->get_group(), "Options") << option->get_name() << " is in no group";
    ++count;
  }
  EXPECT_GT(count, 25);
}

TEST_F(ServeOptionsTest, FlagsGoFirstThenEnvironmentThenFile) {
  ::setenv("PACELINE_PORT", "7001", 1);
  command_.parse("--idle-seconds 5");
  const Status read = read_settings_file(
      command_, file("port = 7002\nidle-seconds = 6\nmax-choices = 3\nkv-bytes = \"64MB\"\ndraft = \"ngram\"\n"));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(options_.server.port, 7001);
  EXPECT_EQ(options_.server.idle_s, 5);
  EXPECT_EQ(options_.server.limits.max_choices, 3);
  EXPECT_EQ(options_.engine.engine.kv_bytes, size_t{64} << 20);
  EXPECT_EQ(options_.engine.draft.draft, "ngram");
}

TEST_F(ServeOptionsTest, HostsOfMediaAreAList) {
  const auto hosts = [&] { return std::exchange(options_.server.limits.media_hosts, {}); };
  const std::vector<std::string> both{"a.example", "[::1]:8080"};
  command_.parse("");
  EXPECT_TRUE(hosts().empty());
  command_.parse("--media-hosts a.example,[::1]:8080");
  EXPECT_EQ(hosts(), both);
  command_.parse("--media-hosts a.example --media-hosts [::1]:8080");
  EXPECT_EQ(hosts(), both);
  ::setenv("PACELINE_MEDIA_HOSTS", "a.example,[::1]:8080", 1);
  command_.parse("");
  EXPECT_EQ(hosts(), both);
  ::unsetenv("PACELINE_MEDIA_HOSTS");
  command_.parse("");
  ASSERT_TRUE(read_settings_file(command_, file("media-hosts = [\"a.example\", \"[::1]:8080\"]\n")).ok());
  EXPECT_EQ(hosts(), both);
  for (const char* wrong : {"--media-hosts https://a.example", "--media-hosts *.example", "--media-hosts a.example/b"})
    EXPECT_THROW(command_.parse(wrong), CLI::ValidationError) << wrong;
}

TEST_F(ServeOptionsTest, WrongLinesAreNamed) {
  command_.parse("");
  for (const char* text : {"prot = 1\n", "port = 70000\n", "[server]\nport = 1\n", "log-level = \"loud\"\n"}) {
    const Status read = read_settings_file(command_, file(text));
    EXPECT_FALSE(read.ok()) << text;
  }
  EXPECT_FALSE(read_settings_file(command_, "/nothing/there").ok());
}

TEST_F(ServeOptionsTest, KeysComeFromFileAndEnvironment) {
  options_.key_file = file("# ours\nfirst\n\nsecond\n");
  ::setenv("PACELINE_API_KEYS", "third,fourth", 1);
  ASSERT_TRUE(read_api_keys(options_).ok());
  EXPECT_EQ(options_.server.api_keys, (std::vector<std::string>{"first", "second", "third", "fourth"}));
  options_.key_file = file("# none\n");
  EXPECT_FALSE(read_api_keys(options_).ok());
}

// Runs until it says `text` on stderr or ends, then gets the signal; its exit code.
int serve(const std::string& arguments, const std::string& text, int signal, std::string* log) {
  const fs::path err = fs::temp_directory_path() / ("paceline_serve_err_" + std::to_string(getpid()));
  const std::string command =
      std::string("exec ") + PACELINE_PROGRAM + " serve " + arguments + " 2>" + err.string() + " >/dev/null";
  const pid_t child = ::fork();
  if (child == 0) {
    ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    ::_exit(127);
  }
  int status = 0;
  bool told = false, ended = false;
  for (int i = 0; i < 3000 && !ended; ++i) {
    std::stringstream read;
    read << std::ifstream(err).rdbuf();
    *log = read.str();
    if (!told && log->find(text) != std::string::npos) {
      told = true;
      ::kill(child, signal);
    }
    ended = ::waitpid(child, &status, WNOHANG) == child;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  if (!ended) {
    ::kill(child, SIGKILL);
    ::waitpid(child, &status, 0);
  }
  fs::remove(err);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(ServeProgram, EndsWellWhenItIsTold) {
  std::string log;
  for (const int signal : {SIGTERM, SIGINT}) {
    EXPECT_EQ(serve("--port 0 --draft none --kv-bytes 64MB", "serving default on", signal, &log), 0) << log;
  }
}

TEST(ServeProgram, SaysWhatIsWrong) {
  std::string log;
  EXPECT_EQ(serve("--no-such-flag", "~", 0, &log), 2);
  EXPECT_EQ(serve("--port 99999", "~", 0, &log), 2);
  EXPECT_EQ(serve("-m /nothing/here", "~", 0, &log), 1);
  EXPECT_EQ(serve("--host nowhere --draft none", "~", 0, &log), 1);
  EXPECT_NE(log.find("expected an IP address"), std::string::npos) << log;
  EXPECT_EQ(serve("--api-key-file /nothing/here", "~", 0, &log), 1);
  EXPECT_EQ(serve("--config /nothing/here", "~", 0, &log), 2);
}

}  // namespace
}  // namespace paceline
