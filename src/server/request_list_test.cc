// /v1/requests and /slots: who runs and who waits, while they do.
#include <gtest/gtest.h>

#include <atomic>
#include <boost/json.hpp>

#include "server/server_for_tests.h"
#include "speculate/ngram/ngram_drafter.h"

namespace paceline {
namespace {

namespace json = boost::json;

constexpr const char* kRepeats = "Say: a b c d a b c d a b c d a b c d a b c d a b c d.";

// Steps, once told so, wait until they may go on.
struct Gate {
  std::atomic<bool> is_shut = false;
  std::atomic<int> held = 0;
  void pass() {
    if (!is_shut) return;
    ++held;
    (void)TestServer::soon([&] { return !is_shut; });
    --held;
  }
};

TEST(RequestList, TellsWhatSpeculationDoesWhileItRuns) {
  Gate gate;
  NgramDrafter ngrams;
  EngineSettings engine;
  engine.fixed_depth = 3;
  engine.most_running = 1;
  TestServer server({}, engine, {.on_step = [&] { gate.pass(); }, .drafter = &ngrams});
  TestClient running = server.client(), queued = server.client();
  running.send_post("/v1/chat/completions",
                    TestServer::chat_body(R"("max_tokens":300,"ignore_eos":true,"temperature":0)", kRepeats));
  const auto list = [&] { return server.client().get("/v1/requests").json(); };
  json::value record;
  ASSERT_TRUE(TestServer::soon([&] {
    gate.is_shut = false;
    (void)TestServer::soon([&] { return gate.held == 0; });
    gate.is_shut = true;
    (void)TestServer::soon([&] { return gate.held == 1 || server.stats().running == 0; });
    const json::value found = list();
    record = found.at("running").as_array().empty() ? json::value() : found.at("running").at(0);
    return !record.is_null() && record.at("accepted").to_number<int64_t>() > 0;
  }));
  EXPECT_EQ(record.at("state"), "writing");
  EXPECT_EQ(record.at("model"), "default");
  EXPECT_EQ(record.at("wire"), "chat");
  EXPECT_EQ(record.at("depth").to_number<int>(), 3);
  EXPECT_GE(record.at("drafted").to_number<int64_t>(), record.at("accepted").to_number<int64_t>());
  EXPECT_GT(record.at("tokens_per_verify").to_number<double>(), 1);
  EXPECT_GT(record.at("kv_bytes").to_number<int64_t>(), 1000);
  EXPECT_EQ(record.at("prompt_read"), record.at("prompt_tokens")) << "who writes has read all of it";
  // Another that has no place yet.
  queued.send_post("/v1/chat/completions", TestServer::chat_body(R"("max_tokens":2)"));
  ASSERT_TRUE(TestServer::soon([&] { return list().at("waiting").as_array().size() == 1; }));
  const json::value waits = list().at("waiting").at(0);
  EXPECT_EQ(waits.at("state"), "queued");
  EXPECT_GT(waits.at("prompt_tokens").to_number<int64_t>(), 0);
  EXPECT_GE(waits.at("age_s").to_number<double>(), waits.at("queued_s").to_number<double>());
  EXPECT_EQ(waits.at("kv_bytes").to_number<int64_t>(), 0);
  const json::value slots = server.client().get("/slots").json();
  ASSERT_EQ(slots.as_array().size(), 2u);
  EXPECT_EQ(slots.at(0).at("is_processing"), true);
  EXPECT_EQ(slots.at(1).at("is_processing"), false);
  gate.is_shut = false;
  const json::value whole = running.read_answer().json();
  EXPECT_EQ(queued.read_answer().status, 200);
  // At the end it is what the client is told.
  json::value ended;
  ASSERT_TRUE(TestServer::soon([&] { return list().at("recent").as_array().size() == 2; }));
  ended = list().at("recent").at(1);
  EXPECT_EQ(ended.at("id"), record.at("id"));
  EXPECT_EQ(ended.at("state"), "ended");
  EXPECT_EQ(ended.at("kv_bytes").to_number<int64_t>(), 0);
  const json::value& told = whole.at("usage").at("speculative");
  EXPECT_EQ(ended.at("drafted").to_number<int64_t>(), told.at("drafted").to_number<int64_t>());
  EXPECT_EQ(ended.at("accepted").to_number<int64_t>(), told.at("accepted").to_number<int64_t>());
  EXPECT_EQ(server.client().get("/slots").json().as_array().size(), 2u) << "the last ones are there, too";
}

// Step by step: each of them is waited for.
TEST(RequestList, TellsHowMuchOfAPromptWasRead) {
  std::atomic<int> may_step = 0;
  EngineSettings engine;
  engine.chunk_rows = 8;
  TestServer server({}, engine, {.on_step = [&] {
                      (void)TestServer::soon([&] { return may_step > 0; });
                      --may_step;
                    }});
  TestClient asks = server.client();
  asks.send_post("/v1/chat/completions", TestServer::chat_body(R"("max_tokens":2)", std::string(200, 'q')));
  json::value record;
  ASSERT_TRUE(TestServer::soon([&] {
    const json::value found = server.client().get("/v1/requests").json();
    if (found.at("running").as_array().empty()) return false;
    record = found.at("running").at(0);
    if (record.at("prompt_read").to_number<int64_t>() > 0) return true;
    ++may_step;
    return !TestServer::soon([&] { return may_step == 0; });
  }));
  EXPECT_EQ(record.at("state"), "reading");
  EXPECT_GT(record.at("prompt_read").to_number<int64_t>(), 0);
  EXPECT_LT(record.at("prompt_read").to_number<int64_t>(), record.at("prompt_tokens").to_number<int64_t>());
  may_step = 1 << 20;
  EXPECT_EQ(asks.read_answer().status, 200);
}

// Of a prompt that was known before all but its last token, of one that leaves it, and of one that nobody has seen.
TEST(RequestList, TellsWhyNoMoreOfAPromptWasKnown) {
  TestServer server;
  size_t asked = 0;
  const auto missed = [&](const std::string& text, const std::string& more = "") {
    const std::string body = TestServer::chat_body(R"("max_tokens":2)" + more, text);
    EXPECT_EQ(server.client().post("/v1/chat/completions", body).status, 200);
    ++asked;
    json::value recent;
    EXPECT_TRUE(TestServer::soon([&] {
      recent = server.client().get("/v1/requests").json().at("recent");
      return recent.as_array().size() == asked;
    }));
    return recent.at(0).at("prefix_miss");
  };
  const std::string first(200, 'q');
  EXPECT_EQ(missed(first).at("reason"), "unknown");
  EXPECT_TRUE(missed(first).is_null());
  const json::value apart = missed(first.substr(0, 150) + "z" + first.substr(151));
  EXPECT_EQ(apart.at("reason"), "differs");
  EXPECT_GT(apart.at("token").to_number<int64_t>(), 20);
  EXPECT_EQ(missed(first, R"(,"cache_salt":"mine")").at("reason"), "scope");
}

}  // namespace
}  // namespace paceline
