// What clients do wrong, on purpose or because they died: no crash, the right answer, and nobody beside them harmed.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/json.hpp>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>

#include "base/file_limit.h"
#include "base/regular_file.h"
#include "base/replaced_file.h"
#include "base/sanitized.h"
#include "model/gemma4/gemma4_forward.h"
#include "server/health.h"
#include "server/server_for_tests.h"

namespace paceline {
namespace {

constexpr const char* kLong = R"("max_tokens":3000,"ignore_eos":true,"stream":true)";

// A client whose stream has begun, and who is no longer counted among those who wait: the chunk of the role comes
// before that, and the first text within the step that ends it.
TestClient streaming(TestServer& server) {
  TestClient client = server.client();
  client.send_post("/v1/chat/completions", TestServer::chat_body(kLong));
  EXPECT_TRUE(client.read_until("\"delta\":{\"content\":\"")) << client.buffered();
  EXPECT_TRUE(TestServer::soon([&] { return server.stats().running > 0 && server.stats().waiting == 0; }));
  return client;
}

bool nothing_runs(TestServer& server) {
  return TestServer::soon([&] { return server.stats().running == 0 && server.stats().waiting == 0; });
}

TEST(ServerFaults, WhoGoesAwayIsCancelled) {
  TestServer server;
  {
    TestClient closed = streaming(server), killed = streaming(server);
    EXPECT_TRUE(TestServer::soon([&] { return server.stats().running == 2; }));
    closed.close();
    killed.reset();
    EXPECT_TRUE(nothing_runs(server));
  }
  // Both are said to have ended, and why.
  boost::json::value listed;
  EXPECT_TRUE(TestServer::soon([&] {
    listed = server.client().get("/v1/requests").json();
    return listed.at("recent").as_array().size() == 2;
  }));
  EXPECT_TRUE(listed.at("running").as_array().empty());
  for (const auto& record : listed.at("recent").as_array()) {
    EXPECT_EQ(record.at("state"), "ended");
    EXPECT_EQ(record.at("end"), "client_closed_request");
  }
  // One that waits for a whole answer, and one whose request has just been sent.
  TestClient waiting = server.client();
  waiting.send_post("/v1/chat/completions", TestServer::chat_body(R"("max_tokens":3000,"ignore_eos":true)"));
  EXPECT_TRUE(TestServer::soon([&] { return server.stats().running == 1; }));
  waiting.reset();
  EXPECT_TRUE(nothing_runs(server));
  for (int i = 0; i < 20; ++i) {
    TestClient hasty = server.client();
    hasty.send_post("/v1/chat/completions", TestServer::chat_body(kLong));
    hasty.reset();
  }
  EXPECT_TRUE(nothing_runs(server));
  EXPECT_EQ(server.chat(R"("max_tokens":3)").status, 200);
}

// Right behind the call none is lost, though nobody may wait for one yet; not even where it would end the program.
TEST(ServerFaults, ASignalThatComesAtOnceDrains) {
  ServerSettings settings;
  settings.drain_grace_s = 0;
  for (const int signal : {SIGTERM, SIGINT}) {
    TestServer server(settings);
    server.server().handle_signals();
    ASSERT_EQ(std::raise(signal), 0);
    server.server().wait();
  }
}

TEST(ServerFaults, MoreThanThereIsRoomForIsRefused) {
  EngineSettings engine;
  engine.most_running = 1;
  engine.queue_length = 1;
  TestServer server({}, engine);
  TestClient running = streaming(server);
  TestClient waiting = server.client();
  waiting.send_post("/v1/chat/completions", TestServer::chat_body(kLong));
  EXPECT_TRUE(TestServer::soon([&] { return server.stats().waiting == 1; }));
  const TestAnswer refused = server.chat("");
  EXPECT_EQ(refused.status, 429);
  EXPECT_NE(refused.head.find("Retry-After: 1"), std::string::npos);
  EXPECT_EQ(refused.error_field("type"), "rate_limit_error");
  EXPECT_EQ(server.client().get("/health").status, 200);
  running.close();
  waiting.close();
  EXPECT_TRUE(nothing_runs(server));
}

// A longer queue and another limit, while it serves.
TEST(ServerFaults, WhatAnOperatorChangesHoldsFromThenOn) {
  EngineSettings engine;
  engine.most_running = 1;
  engine.queue_length = 1;
  ServerSettings settings;
  settings.check_setting = [](const std::string& name, const std::string&) -> Status {
    if (name != "queue-length") return Error{name + " does not change"};
    return Done{};
  };
  settings.change_setting = [](const std::string&, const std::string& value) -> Result<LiveSettings> {
    LiveSettings live;
    live.limits.max_choices = 2;
    live.dials.queue_length = std::stoi(value);
    return live;
  };
  TestServer server(settings, engine);
  TestClient running = streaming(server);
  TestClient waiting = server.client(), more = server.client();
  waiting.send_post("/v1/chat/completions", TestServer::chat_body(kLong));
  EXPECT_TRUE(TestServer::soon([&] { return server.stats().waiting == 1; }));
  EXPECT_EQ(server.chat("").status, 429);
  EXPECT_EQ(server.client().post("/v1/settings", R"({"port":1})").status, 400);
  EXPECT_EQ(server.client().post("/v1/settings", "[]").status, 400);
  EXPECT_EQ(server.client().post("/v1/settings?write=1", "{}").status, 400) << "there is no file";
  ASSERT_EQ(server.client().post("/v1/settings", R"({"queue-length":2})").status, 200);
  EXPECT_EQ(server.chat(R"("n":3)").status, 400);
  more.send_post("/v1/chat/completions", TestServer::chat_body(kLong));
  EXPECT_TRUE(TestServer::soon([&] { return server.stats().waiting == 2; }));
  for (TestClient* client : {&running, &waiting, &more}) client->close();
  EXPECT_TRUE(nothing_runs(server));
}

// Also for those who have been idle for a while.
TEST(ServerFaults, TheTimeThatConnectionsMayBeIdleChanges) {
  ServerSettings settings;
  settings.check_setting = [](const std::string&, const std::string&) -> Status { return Done{}; };
  settings.change_setting = [](const std::string&, const std::string& value) -> Result<LiveSettings> {
    LiveSettings live;
    live.idle_s = std::stod(value);
    return live;
  };
  settings.idle_s = 3600;
  TestServer server(settings);
  TestClient silent = server.client(), asked = server.client();
  EXPECT_EQ(asked.get("/health").status, 200);
  ASSERT_EQ(server.client().post("/v1/settings", R"({"idle-seconds":0.2})").status, 200);
  EXPECT_TRUE(silent.is_closed());
  EXPECT_TRUE(asked.is_closed());
}

// What is wrong with one of several settings leaves all of them, and the file, as they were.
TEST(ServerFaults, SettingsChangeTogetherOrNotAtAll) {
  const std::filesystem::path folder = testing::TempDir() + fmt::format("paceline_settings_{}", ::getpid());
  std::filesystem::create_directories(folder);
  const std::string file = folder / "paceline.toml", before = "# ours\nport = 1\n";
  ASSERT_TRUE(replace_file(file, before).ok());
  std::map<std::string, std::string> taken;
  ServerSettings settings;
  settings.config_file = file;
  settings.check_setting = [](const std::string& name, const std::string&) -> Status {
    if (name == "wrong") return Error{"wrong: unknown setting"};
    return Done{};
  };
  settings.change_setting = [&](const std::string& name, const std::string& value) -> Result<LiveSettings> {
    taken[name] = value;
    return LiveSettings{};
  };
  settings.check_config = [](const std::string& all) -> Status {
    if (const size_t at = all.find("broken"); at != std::string::npos)
      return Error{
          fmt::format("line {}: broken", std::count(all.begin(), all.begin() + static_cast<long>(at), '\n') + 1)};
    return Done{};
  };
  TestServer server(settings);
  const auto post = [&](const char* query, const char* body) {
    return server.client().post(fmt::format("/v1/settings{}", query), body);
  };
  const auto text = [&] { return *read_file(file, 1 << 20); };
  for (const char* body : {R"({"a":1,"wrong":2})", R"({"log-level":"debug","wrong":2})",
                           R"({"a":1,"log-level":"loud"})", R"({"a":1,"b":[2]})", R"({"a":1,"b":null})"}) {
    for (const char* query : {"", "?write=1"}) {
      EXPECT_EQ(post(query, body).status, 400) << body;
      EXPECT_TRUE(taken.empty()) << body;
      EXPECT_EQ(text(), before) << body;
    }
  }
  EXPECT_EQ(post("", R"({"a":1,"wrong":2})").error_field("message"), "wrong: unknown setting");
  EXPECT_EQ(post("", R"({"a":1,"wrong":2})").error_field("param"), "wrong");
  EXPECT_EQ(post("", "{}").status, 400) << "nothing to change, nothing to write";
  EXPECT_EQ(post("", R"({"early":true})").status, 200);
  EXPECT_EQ(text(), before);
  EXPECT_EQ(post("?write=1", R"({"a":0.25,"b":"word","c":7})").status, 200);
  EXPECT_EQ(taken, (std::map<std::string, std::string>{{"a", "0.25"}, {"b", "word"}, {"c", "7"}, {"early", "true"}}));
  EXPECT_EQ(text(), before + "a = 0.25\nb = \"word\"\nc = 7\nearly = true\n");
  EXPECT_EQ(post("?write=1", R"({"c":8})").status, 200);
  EXPECT_EQ(text(), before + "a = 0.25\nb = \"word\"\nc = 8\nearly = true\n");
  for (const char* query : {"?write=yes", "?write=true"}) EXPECT_EQ(post(query, R"({"c":8})").status, 200) << query;
  for (const char* query : {"?write=maybe", "?write=2", "?write=YES"}) {
    const TestAnswer refused = post(query, R"({"c":7})");
    EXPECT_EQ(refused.status, 400) << query;
    EXPECT_EQ(refused.error_field("param"), "write") << query;
  }
  EXPECT_EQ(post("?write=no", R"({"c":8})").status, 200);
  // Somebody edits it meanwhile, and is not done.
  const std::string edited = before + "broken = \n";
  ASSERT_TRUE(replace_file(file, edited).ok());
  const TestAnswer left = post("?write=1", R"({"c":9})");
  EXPECT_EQ(left.status, 409);
  EXPECT_NE(left.error_field("message").find("paceline.toml: line 3: broken"), std::string::npos) << left.body;
  EXPECT_EQ(left.error_field("code"), "broken_file");
  EXPECT_EQ(text(), edited);
  EXPECT_EQ(taken.at("c"), "8");
  // A file that cannot be written: nothing changes either.
  std::filesystem::remove_all(folder);
  ASSERT_TRUE(replace_file(folder, "in the way").ok());
  const TestAnswer unwritten = post("?write=1", R"({"c":9})");
  EXPECT_EQ(unwritten.status, 500);
  EXPECT_EQ(unwritten.error_field("type"), "server_error");
  EXPECT_NE(unwritten.error_field("message").find("paceline.toml: cannot be written: Not a directory"),
            std::string::npos)
      << unwritten.body;
  EXPECT_EQ(taken.at("c"), "8");
  std::filesystem::remove(folder);
}

// Also what was counted in the last moment, behind the last sample.
TEST(ServerFaults, TotalsHaveAllThatWasCounted) {
  const std::filesystem::path folder = testing::TempDir() + fmt::format("paceline_totals_{}", ::getpid());
  ServerSettings settings;
  settings.totals_file = folder / "totals.json";
  const auto sum = [&](const char* name) {
    return boost::json::parse(*read_file(settings.totals_file, 1 << 20)).at(name).to_number<int>();
  };
  int tokens = 0;
  for (int round = 1; round <= 3; ++round) {
    {
      TestServer server(settings);
      const TestAnswer answer = server.chat(R"("max_tokens":3,"ignore_eos":true)");
      ASSERT_EQ(answer.status, 200);
      tokens += answer.json().at("usage").at("completion_tokens").to_number<int>();
    }
    EXPECT_EQ(sum("output"), tokens);
    EXPECT_EQ(sum("requests"), round);
  }
  std::filesystem::remove_all(folder);
}

// Out of files: nobody is answered, and the operator learns why; once, though it goes on.
TEST(ServerFaults, RunningOutOfFilesIsSaid) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  TestHooks hooks;
  hooks.log_fd = ends[1];
  std::string text;
  {
    TestServer server({}, {}, hooks);
    EXPECT_EQ(server.client().get("/health").status, 200);
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    const rlimit few{256, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
    std::vector<int> taken;
    for (int fd; (fd = ::dup(ends[0])) >= 0;) taken.push_back(fd);
    ASSERT_FALSE(taken.empty());
    // One file is left, and the client's end has it.
    ::close(taken.back());
    taken.pop_back();
    TestClient client = server.client();
    client.send("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_TRUE(TestServer::soon([&] {
      char bytes[4096];
      const ssize_t count = ::read(ends[0], bytes, sizeof(bytes));
      if (count > 0) text.append(bytes, static_cast<size_t>(count));
      return text.find('\n') != std::string::npos;
    }));
    // A while in which it is tried again, ten times or so.
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    for (const int fd : taken) ::close(fd);
    EXPECT_EQ(client.read_answer().status, 200);
    ::setrlimit(RLIMIT_NOFILE, &before);
    char bytes[4096];
    const ssize_t count = ::read(ends[0], bytes, sizeof(bytes));
    if (count > 0) text.append(bytes, static_cast<size_t>(count));
  }
  EXPECT_NE(text.find("error cannot take new connections: Too many open files"), std::string::npos) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  ::close(ends[0]);
}

// However few they are: pictures and prompts take memory while they wait.
TEST(ServerFaults, WhatHoldsTooMuchIsRefused) {
  EngineSettings engine;
  engine.queue_bytes = 40'000;
  TestServer server({}, engine);
  TestClient running = streaming(server);
  const size_t held = server.stats().held_bytes;
  EXPECT_GT(held, 2000u);
  EXPECT_LT(held, 20'000u);
  const TestAnswer refused = server.chat(R"("n":16,"max_tokens":1,"stop":["a","b"])");
  EXPECT_EQ(refused.status, 429);
  EXPECT_NE(refused.head.find("Retry-After: 1"), std::string::npos);
  EXPECT_EQ(refused.error_field("type"), "rate_limit_error");
  EXPECT_EQ(server.chat(R"("max_tokens":1)").status, 200);
  running.close();
  EXPECT_TRUE(nothing_runs(server));
  EXPECT_EQ(server.stats().held_bytes, 0u);
  EXPECT_EQ(server.chat(R"("n":16,"max_tokens":1)").status, 200);
}

TEST(ServerFaults, WhatCanNeverFitIsSaidAtOnce) {
  EngineSettings engine;
  engine.kv_bytes = size_t{1} << 20;
  TestServer server({}, engine);
  const TestAnswer answer = server.chat(R"("max_tokens":4000,"ignore_eos":true)");
  EXPECT_EQ(answer.status, 400);
  EXPECT_NE(answer.error_field("message").find("1048576"), std::string::npos);
}

TEST(ServerFaults, DrainingEndsWhatRunsAndRefusesTheRest) {
  ServerSettings settings;
  settings.drain_s = 2;
  settings.drain_grace_s = 0;
  TestServer server(settings);
  TestClient idle = server.client(), running = streaming(server), late = server.client();
  // Who has answered the first of these has read what there is of the second; and waits for the rest by the time that
  // another is answered.
  late.send(
      "GET /version HTTP/1.1\r\nHost: localhost\r\n\r\nPOST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n");
  EXPECT_EQ(late.read_answer().status, 200);
  EXPECT_EQ(idle.get("/ready").status, 200);
  server.server().drain();
  EXPECT_TRUE(idle.is_closed()) << "a connection without a request is closed";
  late.send("Content-Length: 2\r\n\r\n{}");
  EXPECT_EQ(late.read_answer().status, 503);
  EXPECT_TRUE(running.read_until("[DONE]"));
  const std::string& text = running.buffered();
  EXPECT_NE(text.find("\"shutting_down\""), std::string::npos);
  // Counts come before the error.
  EXPECT_LT(text.find("\"completion_tokens\":"), text.find("\"shutting_down\""));
  server.server().wait();
  EXPECT_FALSE(server.client().connected());
}

// Who balances load sees that it should send nobody any more before anybody is refused.
// For a while, which here is longer than any test: those who are connected are served, and those who come.
TEST(ServerFaults, LeavingServesOnForAWhile) {
  ServerSettings settings;
  settings.drain_grace_s = 3600;
  TestServer server(settings);
  TestClient busy = server.client(), running = streaming(server);
  EXPECT_EQ(busy.get("/ready").status, 200);
  server.server().drain();
  ASSERT_TRUE(TestServer::soon([&] { return server.client().get("/ready").status == 503; }));
  EXPECT_EQ(server.client().get("/health").status, 200);
  EXPECT_EQ(server.chat(R"("max_tokens":3)").status, 200);
  const TestAnswer last = busy.post("/v1/chat/completions", TestServer::chat_body(R"("max_tokens":3)"));
  EXPECT_EQ(last.status, 200);
  EXPECT_NE(last.head.find("Connection: close"), std::string::npos) << last.head;
  EXPECT_TRUE(running.read_some());
}

// Then refusing, on a listener that is open, as long as something runs; one without a request has been closed.
TEST(ServerFaults, LeavingRefusesWhenTheWhileIsOver) {
  ServerSettings settings;
  settings.drain_grace_s = 0.2;
  TestServer server(settings);
  TestClient idle = server.client(), running = streaming(server);
  server.server().drain();
  EXPECT_TRUE(idle.is_closed());
  const TestAnswer refused = server.chat("");
  EXPECT_EQ(refused.status, 503);
  EXPECT_NE(refused.head.find("Retry-After: "), std::string::npos) << refused.head;
  EXPECT_EQ(server.client().get("/ready").status, 503);
  EXPECT_TRUE(running.read_some());
  running.close();
  server.server().wait();
  EXPECT_FALSE(server.client().connected());
}

// A step that does not return: whoever asks hears it, though no request is answered.
TEST(ServerFaults, AStepThatDoesNotReturnIsNotHealthy) {
  std::atomic<bool> held = false;
  TestHooks hooks;
  hooks.on_step = [&] {
    while (held) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  ServerSettings settings;
  // A step that takes so long on a busy machine is seen as stuck, and soon as none.
  settings.stuck_s = 2;
  TestServer server(settings, {}, hooks);
  EXPECT_EQ(server.chat(R"("max_tokens":3)").status, 200);
  EXPECT_TRUE(nothing_runs(server));
  // Nothing to do is no fault, however long.
  std::this_thread::sleep_for(std::chrono::duration<double>(settings.stuck_s * 1.2));
  const TestAnswer rested = server.client().get("/health");
  EXPECT_EQ(rested.status, 200) << rested.body;
  EXPECT_GT(rested.json().at("engine").at("last_step_s_ago").as_double(), settings.stuck_s);
  TestClient waiting = streaming(server);
  EXPECT_TRUE(TestServer::soon([&] { return server.client().get("/health").status == 200; }));
  held = true;
  EXPECT_TRUE(TestServer::soon([&] { return server.client().get("/health").status == 503; }));
  const auto answer = server.client().get("/health").json();
  EXPECT_EQ(answer.at("status").as_string(), "stuck");
  EXPECT_NE(answer.at("reason").as_string().find("no step"), std::string::npos);
  EXPECT_EQ(server.client().get("/ready").status, 503);
  held = false;
  EXPECT_TRUE(TestServer::soon([&] { return server.client().get("/health").status == 200; }));
}

// One that never will: those who wait are told, and the server ends, for somebody to start it again.
TEST(ServerFaults, AStepThatDoesNotReturnIsGivenUp) {
  std::atomic<bool> held = false;
  TestHooks hooks;
  hooks.on_step = [&] {
    while (held) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  ServerSettings settings;
  // Many times what a step takes beside others: one that only is slow must not be given up here.
  settings.watchdog_s = 15;
  TestServer server(settings, {}, hooks);
  EXPECT_EQ(server.chat(R"("max_tokens":3)").status, 200);
  {
    TestClient waiting = streaming(server);
    held = true;
    EXPECT_TRUE(waiting.read_until("engine_failed")) << waiting.buffered();
    EXPECT_NE(waiting.buffered().find("no step"), std::string::npos) << waiting.buffered();
  }
  // Also where nobody waits any more, whoever watches over the server can read why.
  const TestAnswer health = server.client().get("/health");
  EXPECT_EQ(health.status, 503) << health.body;
  EXPECT_NE(health.body.find("no step"), std::string::npos) << health.body;
  server.server().wait();
  EXPECT_TRUE(server.server().has_given_up());
  // The engine, should it come back, has nobody to write for.
  const int64_t before = server.stats().steps;
  held = false;
  EXPECT_TRUE(nothing_runs(server));
  EXPECT_LE(server.stats().steps, before + 16);
}

// A device that fails, from when it is told to.
class FailingOps : public kernels::CpuOps {
 public:
  using CpuOps::CpuOps;
  Status wait() override { return fails ? Status(Error{"the device fell off"}) : Status(Done{}); }
  std::atomic<bool> fails = false;
};

TEST(ServerFaults, AnEngineThatFailedIsNotHealthyAndSaysWhy) {
  TestModel& model = TestModel::shared();
  FailingOps ops{**kernels::find_cpu_table(""), model.pool};
  Gemma4Forward forward{as_gemma4(model.text.loaded.weights), ops, Precision::bf16};
  TestHooks hooks;
  hooks.forward = &forward;
  TestServer server({}, {}, hooks);
  TestClient running = streaming(server);
  EXPECT_EQ(server.client().get("/health").status, 200);
  ops.fails = true;
  EXPECT_TRUE(running.read_until("[DONE]"));
  EXPECT_NE(running.buffered().find("\"engine_failed\""), std::string::npos);
  const TestAnswer answer = server.client().get("/health");
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.json().at("status").as_string(), "failed");
  EXPECT_EQ(answer.json().at("reason").as_string(), "the engine failed: the device fell off");
  EXPECT_EQ(server.client().get("/ready").status, 503);
  EXPECT_EQ(server.chat("").status, 503);
}

TEST(ServerFaults, ThreadsThatDoNotGetOnAreNotHealthy) {
  TestServer server;
  Health health(&server.model().engine(), 1.0);
  EXPECT_EQ(health.report({{"small", 5, 2, 0.9}, {"large", 0, 0, 0}}).problem, "");
  const HealthReport report = health.report({{"small", 0, 0, 0}, {"large", 1, 1, 1.5}});
  EXPECT_EQ(report.problem, "the threads that prepare large requests have not got on for 1.5 s");
  EXPECT_FALSE(report.failed);
}

TEST(ServerFaults, TimeIsLimited) {
  ServerSettings settings;
  settings.limits.request_s = 5;
  // However fast steps are, one of them lasts until the time is over.
  int steps = 0;
  TestHooks hooks;
  hooks.on_step = [&] {
    if (++steps == 4) std::this_thread::sleep_for(std::chrono::milliseconds(5100));
  };
  TestServer server(settings, {}, hooks);
  const TestAnswer late = server.chat(R"("max_tokens":3000,"ignore_eos":true)");
  EXPECT_EQ(late.status, 408);
  EXPECT_GT(late.json().at("usage").at("completion_tokens").as_int64(), 0);
}

// Nobody else asks this server, who might be as slow on a busy machine.
TEST(ServerFaults, TimeOfWhoSaysNothingIsLimited) {
  ServerSettings settings;
  settings.header_s = settings.idle_s = 0.3;
  TestServer server(settings);
  TestClient half = server.client();
  half.send("POST /v1/chat/completions HTTP/1.1\r\nHos");
  EXPECT_TRUE(half.is_closed()) << "half a header is not waited for";
  TestClient silent = server.client();
  EXPECT_TRUE(silent.is_closed());
}

TEST(ServerFaults, TooMuchIsRefusedAndNotKept) {
  ServerSettings settings;
  settings.max_body_bytes = 100'000;
  TestServer server(settings);
  TestClient beside = streaming(server);
  {
    TestClient client = server.client();
    client.send("GET /health HTTP/1.1\r\nHost: localhost\r\nX-Long: ");
    const std::string piece(1 << 16, 'x');
    for (int i = 0; i < 160 && client.send(piece); ++i) {
    }
    EXPECT_EQ(client.read_answer().status, 431);
  }
  {
    TestClient client = server.client();
    client.send("POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100001\r\n\r\n");
    EXPECT_EQ(client.read_answer().status, 413);
  }
  {
    TestClient client = server.client();
    client.send("POST /tokenize HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
    const std::string chunk = "10000\r\n" + std::string(0x10000, 'x') + "\r\n";
    for (int i = 0; i < 4 && client.send(chunk); ++i) {
    }
    EXPECT_EQ(client.read_answer().status, 413);
  }
  EXPECT_EQ(server.client().post("/tokenize", std::string(90'000, '[')).status, 400);
  EXPECT_EQ(server.client().post("/tokenize", "{\"prompt\":\"\xFF\"}").status, 400);
  EXPECT_TRUE(beside.read_some());
}

std::string mutated(std::string text, std::mt19937& random) {
  static constexpr std::string_view kPieces[] = {"\"",   "{",      "}",    "[",    "]",         ":",       ",",
                                                 "null", "1e999",  "-1",   "\\u0", "\xFF",      "\"n\":9", "\"stop\":[",
                                                 "true", "999999", "\r\n", "0.5",  "\"tools\"", "\\ud800", "\0"};
  for (int edits = static_cast<int>(random() % 4) + 1; edits > 0; --edits) {
    const size_t at = random() % (text.size() + 1);
    switch (random() % 4) {
      case 0: text.insert(at, kPieces[random() % std::size(kPieces)]); break;
      case 1: text.erase(at, random() % 8); break;
      case 2:
        if (at < text.size()) text[at] = static_cast<char>(random());
        break;
      default: text.insert(at, text.substr(random() % (text.size() + 1), random() % 16));
    }
  }
  return text;
}

// PACELINE_TEST_LONG: 10,000 of them; half as bodies and half as whole requests, beside a stream that must not mind.
TEST(ServerFaults, MutatedRequests) {
  ServerSettings settings;
  settings.limits.default_max_tokens = 2;
  TestServer server(settings);
  TestClient beside = streaming(server);
  std::mt19937 random(1);
  const int rounds = std::getenv("PACELINE_TEST_LONG") != nullptr ? 5000 : kSanitized ? 500 : 2000;
  const std::string bodies[] = {
      TestServer::chat_body(R"("max_tokens":1,"temperature":0.5,"stop":["a"],"n":2,"logprobs":true,"stream":true)"),
      TestServer::chat_body(R"("max_tokens":1,"response_format":{"type":"json_object"},"seed":4)"),
      TestServer::chat_body(
          R"("max_tokens":1,"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}])")};
  TestClient client = server.client();
  for (int i = 0; i < rounds; ++i) {
    const TestAnswer answer =
        client.post("/v1/chat/completions", mutated(bodies[random() % std::size(bodies)], random));
    ASSERT_TRUE(answer.status == 200 || answer.status == 400 || answer.status == 404) << answer.status;
    ASSERT_TRUE(answer.whole);
    if (answer.status != 200) {
      ASSERT_NE(answer.error_field("message"), "no error");
    }
  }
  const std::string request = "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}";
  for (int i = 0; i < rounds; ++i) {
    TestClient rude = server.client();
    ASSERT_TRUE(rude.connected());
    rude.send(i % 5 == 0 ? std::string(random() % 64, static_cast<char>(random())) : mutated(request, random));
    ::shutdown(rude.handle(), SHUT_WR);
    while (rude.read_some(2000)) {
    }
    if (!rude.buffered().empty()) {
      ASSERT_TRUE(rude.buffered().starts_with("HTTP/1.1 4") || rude.buffered().starts_with("HTTP/1.1 2") ||
                  rude.buffered().starts_with("HTTP/1.0 4"))
          << rude.buffered();
    }
    if (i % 500 == 0) {
      ASSERT_EQ(server.client().get("/health").status, 200);
    }
  }
  beside.close();
  EXPECT_TRUE(nothing_runs(server));
}

// One that reads nothing of its stream delays no other; and it is cancelled like any other when it goes.
TEST(ServerFaults, SlowReadersAreTheirOwnProblem) {
  TestServer server;
  TestClient slow = server.client();
  const int small = kSanitized ? 65536 : 4096;  // through the small one it takes minutes there
  ::setsockopt(slow.handle(), SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
  slow.send_post("/v1/chat/completions",
                 TestServer::chat_body(fmt::format(R"("max_tokens":{},"ignore_eos":true,"stream":true,"logprobs":true)"
                                                   R"(,"top_logprobs":20)",
                                                   kSanitized ? 300 : 1000)));
  EXPECT_TRUE(TestServer::soon([&] { return server.stats().running == 1; }));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(server.chat(R"("max_tokens":10)").status, 200);
  // It has all been computed, though most was not read.
  EXPECT_TRUE(TestServer::soon([&] { return server.stats().running == 0; }, 300));
  const int large = 1 << 20;
  ::setsockopt(slow.handle(), SOL_SOCKET, SO_RCVBUF, &large, sizeof(large));
  EXPECT_TRUE(slow.read_answer().done());
}

// PACELINE_TEST_LONG: a thousand.
TEST(ServerFaults, ManyOpenStreams) {
  const int count = std::getenv("PACELINE_TEST_LONG") != nullptr ? 1000 : kSanitized ? 16 : 150;
  raise_file_limit();
  TestServer server;
  std::vector<TestClient> clients;
  for (int i = 0; i < count; ++i) {
    clients.push_back(server.client());
    ASSERT_TRUE(clients.back().connected());
    clients.back().send_post("/v1/chat/completions",
                             TestServer::chat_body(R"("max_tokens":24,"ignore_eos":true,"stream":true)"));
  }
  int failed = 0;
  for (TestClient& client : clients) {
    const TestAnswer answer = client.read_answer();
    if (answer.status != 200 || !answer.done()) ++failed;
  }
  EXPECT_EQ(failed, 0);
  EXPECT_TRUE(nothing_runs(server));
}

}  // namespace
}  // namespace paceline
