#include "server/doorman.h"

#include <gtest/gtest.h>

#include "server/http_client_for_tests.h"

namespace paceline {
namespace {

TEST(DoormanTest, SaysThatItIsLoadingAndGivesThePortBack) {
  ServerSettings settings;
  settings.port = 0;
  EXPECT_EQ(Doorman::start(settings), nullptr) << "nobody knows the port yet";
  std::unique_ptr<Doorman> doorman;
  for (settings.port = 20000; doorman == nullptr && settings.port < 30000; settings.port += 7)
    doorman = Doorman::start(settings);
  settings.port -= 7;
  ASSERT_NE(doorman, nullptr);
  EXPECT_EQ(Doorman::start(settings), nullptr) << "somebody stands there";
  TestAnswer health = TestClient(settings.port).get("/health");
  EXPECT_EQ(health.status, 200);
  EXPECT_EQ(health.json().at("status").as_string(), "loading");
  for (const char* path : {"/ready", "/v1/models", "/healthy"}) {
    const TestAnswer other = TestClient(settings.port).get(path);
    EXPECT_EQ(other.status, 503) << path;
    EXPECT_NE(other.head.find("Retry-After: "), std::string::npos) << path;
  }
  doorman.reset();
  EXPECT_NE(Doorman::start(settings), nullptr) << "the port is free again";
}

}  // namespace
}  // namespace paceline
