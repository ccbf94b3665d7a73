// What keys are good for, over HTTP: so much for a minute, guesses that get slower, and routes for operators alone.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "server/server_for_tests.h"

namespace paceline {
namespace {

std::string bearer(const std::string& key) { return "Authorization: Bearer " + key + "\r\n"; }

TestAnswer chat_with(TestServer& server, const std::string& key, const char* path = "/v1/chat/completions") {
  return server.client().post(path, TestServer::chat_body(R"("max_tokens":4)"), bearer(key));
}

double retry_after(const TestAnswer& answer) {
  const size_t at = answer.head.find("Retry-After: ");
  return at == std::string::npos ? -1 : std::stod(answer.head.substr(at + 13));
}

TEST(KeyLimitsOverHttp, RequestsOfAMinute) {
  ServerSettings settings;
  settings.api_keys = {"one", "two"};
  settings.allowance.requests_per_minute = 2;
  TestServer server(settings);
  EXPECT_EQ(chat_with(server, "one").status, 200);
  // Every wire counts, and looking does not.
  EXPECT_EQ(chat_with(server, "one", "/v1/messages").status, 200);
  EXPECT_EQ(server.client().get("/v1/models", bearer("one")).status, 200);
  const TestAnswer refused = chat_with(server, "one");
  EXPECT_EQ(refused.status, 429) << refused.body;
  EXPECT_EQ(refused.error_field("code"), "rate_limit_exceeded");
  EXPECT_GT(retry_after(refused), 20);
  EXPECT_LE(retry_after(refused), 31);
  EXPECT_EQ(chat_with(server, "two").status, 200);
}

TEST(KeyLimitsOverHttp, TokensOfAMinute) {
  ServerSettings settings;
  settings.api_keys = {"one", "two"};
  settings.allowance.tokens_per_minute = 5;
  TestServer server(settings);
  // What it will take is not known before; who comes next waits for it.
  EXPECT_EQ(chat_with(server, "one").status, 200);
  EXPECT_TRUE(TestServer::soon([&] { return chat_with(server, "one").status == 429; }, 2));
  EXPECT_EQ(chat_with(server, "two").status, 200);
}

TEST(KeyLimitsOverHttp, GuessesGetSlower) {
  ServerSettings settings;
  settings.api_keys = {"right"};
  TestServer server(settings);
  const auto seconds_of = [&](const std::string& key, int status) {
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(server.client().get("/v1/models", bearer(key)).status, status);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  for (int i = 0; i < 3; ++i) (void)seconds_of("wrong", 401);
  EXPECT_GE(seconds_of("wrong", 401), 0.25);
  EXPECT_GE(seconds_of("wronger", 401), 0.5);
  // Whoever has the key does not wait for the others' guesses, of which the last is answered in a minute.
  std::vector<TestClient> guessing;
  for (int i = 0; i < 20; ++i) {
    guessing.push_back(server.client());
    guessing.back().send("GET /v1/models HTTP/1.1\r\nHost: localhost\r\n" + bearer("wrong") + "\r\n");
  }
  EXPECT_EQ(guessing.front().read_answer().status, 401);
  EXPECT_EQ(server.client().get("/v1/models", bearer("right")).status, 200);
  EXPECT_FALSE(guessing.back().read_some(0)) << guessing.back().buffered();
}

// Whoever does not wait for the answer to a wrong key takes no place.
TEST(KeyLimitsOverHttp, WhoGuessedAndWentIsNotKept) {
  ServerSettings settings;
  settings.api_keys = {"right"};
  TestServer server(settings);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(server.client().get("/v1/models", bearer("wrong")).status, 401);
  {
    std::vector<TestClient> guessing;
    for (int i = 0; i < 12; ++i) {
      guessing.push_back(server.client());
      guessing.back().send("GET /v1/models HTTP/1.1\r\nHost: localhost\r\n" + bearer("wrong") + "\r\n");
    }
    EXPECT_EQ(guessing.front().read_answer().status, 401);
  }
  EXPECT_TRUE(TestServer::soon([&] {
    const std::string metrics = server.client().get("/metrics").body;
    return metrics.find("status=\"499\"") != std::string::npos;
  })) << server.client().get("/metrics").body;
}

TEST(KeyLimitsOverHttp, WhatManagesNeedsAnAdminKey) {
  ServerSettings settings;
  settings.api_keys = {"user"};
  settings.admin_keys = {"admin"};
  TestServer server(settings);
  for (const char* path : {"/v1/requests", "/slots", "/v1/routing"}) {
    EXPECT_EQ(server.client().get(path, bearer("user")).status, 403) << path;
    EXPECT_EQ(server.client().get(path, bearer("admin")).status, 200) << path;
    EXPECT_EQ(server.client().get(path).status, 401) << path;
  }
  for (const char* path : {"/v1/models/default/load", "/v1/models/default/unload", "/v1/models/rescan", "/models/load"})
    EXPECT_EQ(server.client().post(path, "{}", bearer("user")).status, 403) << path;
  // Where a model lies.
  const auto place = [&](const char* key) {
    return boost::json::value_to<std::string>(server.client().get("/props", bearer(key)).json().at("model_path"));
  };
  EXPECT_EQ(place("user").find('/'), std::string::npos);
  EXPECT_TRUE(place("admin").ends_with("/" + place("user"))) << place("admin");
  // The only model stays.
  EXPECT_EQ(server.client().post("/v1/models/default/unload", "", bearer("admin")).status, 409);
  EXPECT_EQ(server.client().post("/v1/models/default/load", "", bearer("admin")).status, 200);
}

// Nobody forces the call, and the model would rather say Paris: what it may say is what the tool's schema has.
TEST(ToolsOverHttp, ACallsArgumentsFitItsSchemaThoughTheModelWantsOtherwise) {
  TestServer server;
  const auto ask = [&](const std::string& city) {
    const TestAnswer answer = server.chat(
        R"("temperature":0,"tools":[{"type":"function","function":{"name":"get_weather","description":"Weather of a city",)"
        R"("parameters":{"type":"object","properties":{"city":)" +
            city + R"(},"required":["city"]}}}])",
        "What is the weather in Paris?");
    EXPECT_EQ(answer.status, 200) << answer.body;
    const auto message = answer.json().at("choices").at(0).at("message");
    const auto* calls = message.as_object().if_contains("tool_calls");
    if (calls == nullptr) return std::string("no call");
    return boost::json::value_to<std::string>(calls->at(0).at("function").at("arguments"));
  };
  EXPECT_EQ(ask(R"({"type":"string"})"), R"({"city":"Paris"})");
  const std::string other = ask(R"({"type":"string","enum":["Oslo","Bern"]})");
  EXPECT_TRUE(other == R"({"city":"Oslo"})" || other == R"({"city":"Bern"})") << other;
  const auto number = boost::json::parse(ask(R"({"type":"integer","minimum":10,"maximum":12})"));
  EXPECT_GE(number.at("city").to_number<int64_t>(), 10);
  EXPECT_LE(number.at("city").to_number<int64_t>(), 12);
}

}  // namespace
}  // namespace paceline
