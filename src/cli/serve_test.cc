// The settings of the server, from wherever they come; and the program that serves, as operators meet it.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <utility>

#include "cli/serve_options.h"
#include "server/http_client_for_tests.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;

class ServeOptionsTest : public testing::Test {
 protected:
  ServeOptionsTest() : file_(fs::temp_directory_path() / ("paceline_serve_test_" + std::to_string(getpid()))) {
    add_serve_options(told_, options_);
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
  const Command told_{command_};
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

// While it serves: whoever said it before, and what makes no sense changes nothing.
TEST_F(ServeOptionsTest, OneThatChangesLater) {
  command_.parse("--queue-length 5", false);
  for (const char* wrong : {"0", "many", "", "1.5"}) EXPECT_FALSE(told_.change("queue-length", wrong).ok()) << wrong;
  EXPECT_EQ(options_.engine.engine.queue_length, 5);
  ASSERT_TRUE(told_.change("queue-length", "9").ok());
  EXPECT_EQ(options_.engine.engine.queue_length, 9);
  ASSERT_TRUE(told_.change("speculation-report", "detailed").ok());
  EXPECT_EQ(options_.server.limits.speculation_report, SpeculationReport::detailed);
  EXPECT_FALSE(told_.change("speculation-report", "loud").ok());
  EXPECT_EQ(options_.server.limits.speculation_report, SpeculationReport::detailed);
  EXPECT_FALSE(told_.change("nonsense", "1").ok());
}

// The file that comes with the service: all that is commented out in it is a setting, and numbers are the defaults.
TEST_F(ServeOptionsTest, ThePackagedFileIsTrue) {
  std::ifstream packaged(PACELINE_SOURCE_DIR "/packaging/paceline.toml");
  std::string all;
  int settings = 0;
  for (std::string line; std::getline(packaged, line);) {
    const bool is_setting = line.size() > 1 && line[0] == '#' && line[1] != ' ';
    if (is_setting) ++settings;
    all += (is_setting ? line.substr(1) : line) + "\n";
  }
  EXPECT_GE(settings, 15);
  const ServeOptions without = options_;
  const Status read = read_settings_file(told_, file(all));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(options_.engine.draft.draft, without.engine.draft.draft);
  EXPECT_EQ(options_.engine.run.device, without.engine.run.device);
  EXPECT_EQ(options_.engine.run.threads, without.engine.run.threads);
  EXPECT_EQ(options_.engine.engine.kv_bytes, without.engine.engine.kv_bytes);
  EXPECT_EQ(options_.engine.engine.most_running, without.engine.engine.most_running);
  EXPECT_EQ(options_.engine.engine.queue_length, without.engine.engine.queue_length);
  EXPECT_EQ(options_.server.host, without.server.host);
  EXPECT_EQ(options_.server.port, without.server.port);
  EXPECT_EQ(options_.server.max_body_bytes, without.server.max_body_bytes);
  EXPECT_EQ(options_.server.limits.context, without.server.limits.context);
  EXPECT_EQ(options_.server.limits.default_max_tokens, without.server.limits.default_max_tokens);
  EXPECT_EQ(options_.server.limits.request_s, without.server.limits.request_s);
  EXPECT_EQ(options_.log_level, without.log_level);
  EXPECT_EQ(options_.engine.run.model, "/srv/models/gemma-4-E4B-it");
}

TEST_F(ServeOptionsTest, FlagsGoFirstThenEnvironmentThenFile) {
  ::setenv("PACELINE_PORT", "7001", 1);
  command_.parse("--idle-seconds 5");
  const Status read = read_settings_file(
      told_, file("port = 7002\nidle-seconds = 6\nmax-choices = 3\nkv-bytes = \"64MB\"\ndraft = \"ngram\"\n"));
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
  ASSERT_TRUE(read_settings_file(told_, file("media-hosts = [\"a.example\", \"[::1]:8080\"]\n")).ok());
  EXPECT_EQ(hosts(), both);
  for (const char* wrong : {"--media-hosts https://a.example", "--media-hosts *.example", "--media-hosts a.example/b"})
    EXPECT_THROW(command_.parse(wrong), CLI::ValidationError) << wrong;
}

// An operator who asked for keys must not serve without.
TEST_F(ServeOptionsTest, WhatIsToBringKeysMustBringSome) {
  for (const char* flag : {"--api-key-file", "--config"}) {
    EXPECT_THROW(command_.parse(std::vector<std::string>{"", flag}), CLI::ValidationError) << flag;
  }
  command_.parse("");
  const Status line = read_settings_file(told_, file("\napi-key-file = \"\"\n"));
  ASSERT_FALSE(line.ok());
  EXPECT_NE(line.error().message.find("line 2: --api-key-file: expected the name of a file"), std::string::npos)
      << line.error().message;
  for (const char* none : {"", ", ,"}) {
    ::setenv("PACELINE_API_KEYS", none, 1);
    const Status keys = read_api_keys(options_);
    ASSERT_FALSE(keys.ok()) << none;
    EXPECT_NE(keys.error().message.find("found none"), std::string::npos) << keys.error().message;
  }
  EXPECT_TRUE(check_environment().ok());
  ::setenv("PACELINE_API_KEY_FILE", "", 1);
  EXPECT_FALSE(check_environment().ok());
  ::unsetenv("PACELINE_API_KEY_FILE");
}

TEST_F(ServeOptionsTest, SizesHaveARange) {
  for (const char* wrong : {"--kv-bytes -1", "--kv-bytes 99999999999999999999", "--kv-bytes 1PB", "--kv-bytes 8XB",
                            "--max-body-bytes -1", "--max-body-bytes 0", "--decode-bytes -5", "--max-header-bytes 0",
                            "--max-header-bytes 4294967296", "--queue-bytes 17000000TB", "--media-bytes 1.5"})
    EXPECT_THROW(command_.parse(wrong), CLI::ValidationError) << wrong;
  try {
    command_.parse("--max-header-bytes 100");
    FAIL();
  } catch (const CLI::ValidationError& error) {
    EXPECT_NE(std::string(error.what()).find("from 256 to 1 GB"), std::string::npos) << error.what();
  }
  command_.parse("--kv-bytes 8gib --max-header-bytes 64KB --max-body-bytes 4096 --queue-bytes 2M");
  EXPECT_EQ(options_.engine.engine.kv_bytes, size_t{8} << 30);
  EXPECT_EQ(options_.server.max_header_bytes, size_t{64} << 10);
  EXPECT_EQ(options_.server.max_body_bytes, 4096u);
  EXPECT_EQ(options_.engine.engine.queue_bytes, size_t{2} << 20);
  command_.parse("");
  EXPECT_FALSE(read_settings_file(told_, file("kv-bytes = -1\n")).ok());
}

TEST_F(ServeOptionsTest, WrongLinesAreNamed) {
  command_.parse("");
  for (const char* text : {"prot = 1\n", "port = 70000\n", "[server]\nport = 1\n", "log-level = \"loud\"\n"}) {
    const Status read = read_settings_file(told_, file(text));
    EXPECT_FALSE(read.ok()) << text;
  }
  EXPECT_FALSE(read_settings_file(told_, "/nothing/there").ok());
}

// What is wrong, and where.
TEST_F(ServeOptionsTest, WhatIsWrongWithALineIsSaid) {
  command_.parse("");
  const auto error_of = [&](const char* text) {
    const Status read = read_settings_file(told_, file(text));
    return read.ok() ? "" : read.error().message.substr(file_.string().size() + 2);
  };
  EXPECT_EQ(error_of("# settings\n\nport 8080\n"), "line 3: expected = behind port, found '8080'");
  EXPECT_EQ(error_of("port = = 8080\n"), "line 1: expected a number, true, false, or a text in quotes, found '= 8080'");
  EXPECT_EQ(error_of("port = 80 80\n"), "line 1: expected the end of the line, found '80'");
  EXPECT_EQ(error_of("draft = \"ngram\nport = 1\n"),
            "line 1: expected \" at the end of the text, found the end of the line");
  EXPECT_EQ(error_of("draft = ngram\n"), "line 1: expected a number, true, false, or a text in quotes, found 'ngram'");
  EXPECT_EQ(error_of("port = 1\nport = 2\n"), "line 2: port stands in line 1 already");
  EXPECT_EQ(error_of("[server]\n"), "line 1: expected KEY = VALUE or [models.NAME], found '[server]'");
  EXPECT_EQ(error_of("media-hosts = [\"a\"\n\"b\"]"), "line 2: expected , or ] in the list, found '\"b\"]'");
  EXPECT_EQ(error_of("idle-seconds = 1\nprot = 1\n"), "line 2: prot is no setting");
  EXPECT_EQ(error_of("port = 70000\n"), "line 1: --port: expected a whole number from 0 to 65535, found 70000");
}

TEST_F(ServeOptionsTest, LinesAreReadAsTomlHasThem) {
  command_.parse("");
  const Status read = read_settings_file(
      told_, file("  port=7_003 # ours\r\nprefix-cache = false\nidle-seconds = 0.5\nserved-model-name = 'a\\b'\n"
                  "draft=\"n\\\"g\"\nmedia-hosts = [ # some\n  \"a.example\",\n  'b.example',\n]\n"));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(options_.server.port, 7003);
  EXPECT_EQ(options_.server.idle_s, 0.5);
  EXPECT_FALSE(options_.engine.engine.keeps_prefixes);
  EXPECT_EQ(options_.server.model_name, "a\\b");
  EXPECT_EQ(options_.engine.draft.draft, "n\"g");
  EXPECT_EQ(options_.server.limits.media_hosts, (std::vector<std::string>{"a.example", "b.example"}));
}

TEST_F(ServeOptionsTest, ModelsAreTables) {
  command_.parse("");
  const Status read = read_settings_file(
      told_,
      file("port = 7004\n[models.small]\nmodel = \"/srv/small\"\naliases = [\"a\", \"b-*\"]\npin = true\n"
           "[models.\"org/large\"]\nkv-bytes = \"2GB\"\nidle-seconds = 90\ndraft = \"none\"\nctx = 512\nthinking = "
           "false\n"
           "temperature = 0.25\ntop-p = 0.5\ntop-k = 7\n"),
      &options_.models);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(options_.server.port, 7004);
  ASSERT_EQ(options_.models.list.size(), 2u);
  EXPECT_EQ(options_.models.list[0].name, "small");
  EXPECT_EQ(options_.models.list[0].model, "/srv/small");
  EXPECT_EQ(options_.models.list[0].aliases, (std::vector<std::string>{"a", "b-*"}));
  EXPECT_TRUE(options_.models.list[0].pin);
  EXPECT_EQ(options_.models.list[1].name, "org/large");
  EXPECT_EQ(options_.models.list[1].kv_bytes, size_t{2} << 30);
  EXPECT_EQ(options_.models.list[1].idle_s, 90);
  EXPECT_EQ(options_.models.list[1].draft, "none");
  const ModelDefaults& defaults = options_.models.list[1].defaults;
  EXPECT_EQ(defaults.context, 512);
  EXPECT_EQ(defaults.thinks, false);
  EXPECT_EQ(defaults.temperature, 0.25f);
  EXPECT_EQ(defaults.top_p, 0.5f);
  EXPECT_EQ(defaults.top_k, 7);
  for (const char* wrong : {"[models.a]\nctx = -1\n", "[models.a]\nctx = 1.5\n", "[models.a]\nthinking = 1\n",
                            "[models.a]\ntemperature = 3\n", "[models.a]\ntop-k = \"\"\n", "[models.]\n", "[models.a\n",
                            "[models.a]\nwat = 1\n", "[models.a]\npin = 3\n", "[models.a]\nkv-bytes = \"much\"\n",
                            "[models.a]\nidle-seconds = -1\n"})
    EXPECT_FALSE(read_settings_file(told_, file(wrong), &options_.models).ok()) << wrong;
}

TEST_F(ServeOptionsTest, KeysComeFromFileAndEnvironment) {
  options_.key_file = file("# ours\nfirst\n\nsecond\n");
  ::setenv("PACELINE_API_KEYS", "third,fourth", 1);
  ASSERT_TRUE(read_api_keys(options_).ok());
  EXPECT_EQ(options_.server.api_keys, (std::vector<std::string>{"first", "second", "third", "fourth"}));
  options_.key_file = file("# none\n");
  const auto error = [&] { return read_api_keys(options_).error().message; };
  EXPECT_NE(error().find("found none"), std::string::npos) << error();
  // Where there is no file, that is what is said.
  options_.key_file = "/nothing/there";
  EXPECT_EQ(error(), "/nothing/there: cannot open: No such file or directory");
  options_.key_file = fs::temp_directory_path().string();
  EXPECT_NE(error().find("cannot read"), std::string::npos) << error();
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
    EXPECT_EQ(serve("--port 0 --draft none --kv-bytes 64MB --drain-grace 0", "serving default on", signal, &log), 0)
        << log;
  }
}

// The program with a pipe for its stderr, whose reader does as it likes.
class PipedServer {
 public:
  explicit PipedServer(const std::vector<std::string>& further = {}) {
    std::vector<std::string> words{PACELINE_PROGRAM, "serve", "--port",        "0", "--draft", "none",
                                   "--kv-bytes",     "64MB",  "--drain-grace", "0"};
    words.insert(words.end(), further.begin(), further.end());
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    EXPECT_EQ(::pipe(ends_), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(ends_[1], STDERR_FILENO);
      ::close(ends_[0]);
      ::close(ends_[1]);
      ::execv(PACELINE_PROGRAM, arguments.data());
      ::_exit(127);
    }
    ::close(ends_[1]);
    std::string log;
    char c = 0;
    while (log.find("127.0.0.1:") == std::string::npos || c != '\n') {
      if (::read(ends_[0], &c, 1) != 1) return;
      log += c;
    }
    port_ = static_cast<uint16_t>(std::stoi(log.substr(log.find("127.0.0.1:") + 10)));
  }
  ~PipedServer() {
    close_reader();
    if (pid_ > 0) (void)end(SIGKILL);
  }
  void close_reader() {
    if (ends_[0] >= 0) ::close(std::exchange(ends_[0], -1));
  }
  [[nodiscard]] TestClient client() const { return TestClient(port_); }
  [[nodiscard]] uint16_t port() const { return port_; }
  // Its exit code; -1: a signal ended it, or it did not end.
  int end(int signal) {
    ::kill(pid_, signal);
    int status = 0;
    for (int i = 0; i < 2000; ++i) {
      if (::waitpid(pid_, &status, WNOHANG) == pid_) {
        pid_ = -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return -1;
  }

 private:
  int ends_[2] = {-1, -1};
  pid_t pid_ = -1;
  uint16_t port_ = 0;
};

TEST(ServeProgram, DoesNotMindALogThatNobodyReads) {
  PipedServer server;
  {
    // More lines than a pipe holds, and than the queue before it does.
    TestClient client = server.client();
    for (int i = 0; i < 8000; ++i) ASSERT_EQ(client.get("/version").status, 200) << i;
    const std::string metrics = client.get("/metrics").body;
    const size_t at = metrics.find("\npaceline:log_lines_dropped_total{");
    ASSERT_NE(at, std::string::npos);
    EXPECT_GT(std::stod(metrics.substr(metrics.find("} ", at) + 2)), 0);
  }
  EXPECT_EQ(server.end(SIGTERM), 0);
}

// What the program prints on stdout; its errors are let be.
std::string printed(const std::string& arguments) {
  const std::string command = std::string(PACELINE_PROGRAM) + " " + arguments + " 2>/dev/null";
  FILE* pipe = ::popen(command.c_str(), "r");
  std::string made;
  char bytes[4096];
  while (const size_t count = pipe != nullptr ? ::fread(bytes, 1, sizeof bytes, pipe) : 0) made.append(bytes, count);
  if (pipe != nullptr) ::pclose(pipe);
  return made;
}

TEST(ConnectProgram, AsksTheServerForItsModel) {
  const PipedServer server({"--served-model-name", "mine", "--ctx", "640"});
  const std::string url = "--url http://127.0.0.1:" + std::to_string(server.port());
  const std::string text = printed("connect codex " + url + "/");
  EXPECT_NE(text.find("model = \"mine\"\n"), std::string::npos) << text;
  EXPECT_NE(text.find("model_context_window = 640\n"), std::string::npos) << text;
  EXPECT_NE(text.find(std::to_string(server.port()) + "/v1\""), std::string::npos) << text;
  const std::string given = printed("connect codex -m other --ctx 99 " + url);
  EXPECT_NE(given.find("model = \"other\"\n"), std::string::npos) << given;
  EXPECT_NE(given.find("model_context_window = 99\n"), std::string::npos) << given;
  // Nobody listens there.
  const std::string alone = printed("connect codex --url http://127.0.0.1:1");
  EXPECT_NE(alone.find("model = \"default\"\n"), std::string::npos) << alone;
  EXPECT_EQ(alone.find("model_context_window"), std::string::npos) << alone;
  EXPECT_EQ(printed("connect codex --url nonsense"), "");
}

constexpr const char* kQuickToServe = " --port 0 --draft none --kv-bytes 64MB --drain-grace 0";

bool has_ipv6() {
  const int probe = ::socket(AF_INET6, SOCK_STREAM, 0);
  if (probe < 0) return false;
  const sockaddr_in6 address{
      .sin6_family = AF_INET6, .sin6_port = 0, .sin6_flowinfo = 0, .sin6_addr = in6addr_loopback, .sin6_scope_id = 0};
  const bool bound = ::bind(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  ::close(probe);
  return bound;
}

TEST(ServeProgram, ListensOnTheAddressThatItIsTold) {
  std::string log;
  EXPECT_EQ(serve(std::string("--host 127.0.0.1") + kQuickToServe, "on http://127.0.0.1:", SIGTERM, &log), 0) << log;
  EXPECT_NE(log.find("serving default on http://127.0.0.1:"), std::string::npos) << log;
}

TEST(ServeProgram, ListensOnAnAddressWithColons) {
  if (!has_ipv6()) GTEST_SKIP() << "this machine has no ::1 to listen on";
  std::string log;
  EXPECT_EQ(serve(std::string("--host ::1") + kQuickToServe, "on http://[::1]:", SIGTERM, &log), 0) << log;
  EXPECT_NE(log.find("serving default on http://[::1]:"), std::string::npos) << log;
}

TEST(ServeProgram, DoesNotMindALogWhoseReaderHasGone) {
  PipedServer server;
  server.close_reader();
  {
    TestClient client = server.client();
    for (int i = 0; i < 5; ++i) EXPECT_EQ(client.get("/version").status, 200);
  }
  EXPECT_EQ(server.end(SIGTERM), 0);
}

TEST(ServeProgram, AModelThatWasThereFromTheStartCanGoAndComeBack) {
  PipedServer server;
  {
    TestClient client = server.client();
    const TestAnswer gone = client.post("/v1/models/default/unload", "{}");
    ASSERT_EQ(gone.status, 200) << gone.body;
    EXPECT_EQ(gone.json().at("status").at("value"), "unloaded");
    EXPECT_EQ(client.post("/v1/completions", R"({"prompt":"a","max_tokens":1})").status, 200);
  }
  EXPECT_EQ(server.end(SIGTERM), 0);
}

// A request goes before a flag, that before the model's table, and that before the model's files.
TEST(ServeProgram, AModelHasDefaultsOfItsOwn) {
  const fs::path file = fs::temp_directory_path() / ("paceline_tables_" + std::to_string(getpid()));
  const std::string model = std::string("model = \"") + PACELINE_SOURCE_DIR + "/models/default\"\n";
  std::ofstream(file)
      << "[models.files]\n"
      << model << "[models.table]\n"
      << model << "ctx = 256\nthinking = true\ntemperature = 0.25\ntop-p = 0.5\ntop-k = 3\nload-at-start = true\n";
  for (const bool has_flag : {false, true}) {
    PipedServer server(has_flag ? std::vector<std::string>{"--config", file.string(), "--ctx", "512"}
                                : std::vector<std::string>{"--config", file.string()});
    TestClient client = server.client();
    EXPECT_EQ(client.get("/v1/models/table").json().at("context_length").to_number<int>(), has_flag ? 512 : 256);
    const auto params = client.get("/props?model=table").json().at("default_generation_settings").at("params");
    EXPECT_EQ(params.at("temperature").to_number<double>(), 0.25);
    EXPECT_EQ(params.at("top_p").to_number<double>(), 0.5);
    EXPECT_EQ(params.at("top_k").to_number<int>(), 3);
    const auto rendered = [&](const std::string& name, const std::string& further) {
      const TestAnswer answer =
          client.post("/apply-template",
                      R"({"model":")" + name + R"(","messages":[{"role":"user","content":"hi"}])" + further + "}");
      EXPECT_EQ(answer.status, 200) << answer.body;
      return boost::json::value_to<std::string>(answer.json().at("prompt"));
    };
    const std::string on = R"(,"chat_template_kwargs":{"enable_thinking":true})";
    const std::string off = R"(,"chat_template_kwargs":{"enable_thinking":false})";
    ASSERT_NE(rendered("files", on), rendered("files", ""));
    EXPECT_EQ(rendered("table", ""), rendered("files", on));
    EXPECT_EQ(rendered("table", off), rendered("files", off));
  }
  fs::remove(file);
}

TEST(ServeProgram, SaysWhatIsWrong) {
  std::string log;
  EXPECT_EQ(serve("--no-such-flag", "~", 0, &log), 2);
  EXPECT_EQ(serve("--port 99999", "~", 0, &log), 2);
  EXPECT_EQ(serve("-m /nothing/here", "~", 0, &log), 1);
  EXPECT_EQ(serve("--host nowhere --draft none", "~", 0, &log), 1);
  EXPECT_NE(log.find("expected an IP address"), std::string::npos) << log;
  EXPECT_EQ(serve("--api-key-file /nothing/here", "~", 0, &log), 1);
  EXPECT_EQ(serve("--draft none --kv-bytes 10", "~", 0, &log), 1);
  EXPECT_NE(log.find("kv_bytes: expected at least "), std::string::npos) << log;
  EXPECT_NE(log.find("found 10"), std::string::npos) << log;
  EXPECT_EQ(serve("--config /nothing/here", "~", 0, &log), 2);
  // A pipe that nobody writes into would be waited for.
  const fs::path pipe = fs::path(testing::TempDir()) / ("paceline_config_" + std::to_string(::getpid()));
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(serve("--config " + pipe.string(), "~", 0, &log), 2);
  EXPECT_NE(log.find(pipe.string() + ": expected a file, found a pipe"), std::string::npos) << log;
  fs::remove(pipe);
}

}  // namespace
}  // namespace paceline
