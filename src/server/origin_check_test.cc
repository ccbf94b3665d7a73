// Which hosts and pages are let in, and what browsers are told.
#include "server/origin_check.h"

#include <gtest/gtest.h>

#include "server/server_for_tests.h"

namespace paceline {
namespace {

HttpCall call_to(std::string host, std::optional<std::string> origin = std::nullopt) {
  HttpCall call;
  call.method = "POST";
  call.hosts = 1;
  call.host = std::move(host);
  call.origin = std::move(origin);
  return call;
}

int status_of(const OriginCheck& check, const HttpCall& call) {
  const auto error = check.refuse(call);
  return error ? error->status : 200;
}

TEST(OriginCheckTest, OnLoopbackOnlyLoopbackIsOurs) {
  const OriginCheck check{ServerSettings{}};
  for (const char* host : {"localhost", "LocalHost:8000", "localhost.", "127.0.0.1", "127.0.0.1:1", "127.1.2.3",
                           "[::1]", "[::1]:8000", "[::ffff:127.0.0.1]"}) {
    EXPECT_EQ(status_of(check, call_to(host)), 200) << host;
  }
  for (const char* host : {"evil.example", "localhost.evil.example", "evil.localhost", "192.168.1.1", "0.0.0.0", "[::]",
                           "127.0.0.1.evil.example", "2130706433"}) {
    EXPECT_EQ(status_of(check, call_to(host)), 421) << host;
  }
  for (const char* host : {"", "a b", "localhost:0", "localhost:x", "[::1", "localhost@evil.example", "\xff"}) {
    EXPECT_EQ(status_of(check, call_to(host)), 400) << host;
  }
}

// A name can be made to point anywhere; an address is where it is.
TEST(OriginCheckTest, OnTheNetworkAnyAddressIsOursAndListedNames) {
  ServerSettings settings;
  settings.allowed_hosts = {"Models.Example"};
  for (const char* address : {"0.0.0.0", "::", "192.168.1.5"}) {
    settings.host = address;
    const OriginCheck check(settings);
    for (const char* host : {"192.168.1.5:8000", "10.0.0.7", "[fe80::1]:80", "localhost", "models.example:443"}) {
      EXPECT_EQ(status_of(check, call_to(host)), 200) << host;
    }
    EXPECT_EQ(status_of(check, call_to("other.example")), 421);
    EXPECT_EQ(status_of(check, call_to("a.models.example")), 421);
  }
  settings.allowed_hosts = {"*"};
  EXPECT_EQ(status_of(OriginCheck(settings), call_to("other.example")), 200);
}

// "GET http://host/path": the same rules for that host as for the header's.
TEST(OriginCheckTest, AHostInTheTargetIsCheckedLikeTheHeader) {
  const OriginCheck check{ServerSettings{}};
  const auto status = [&](const char* host, const char* authority, std::optional<std::string> origin = std::nullopt) {
    HttpCall call = call_to(host, std::move(origin));
    call.authority = authority;
    return status_of(check, call);
  };
  EXPECT_EQ(status("localhost", "localhost:8000"), 200);
  EXPECT_EQ(status("localhost", "evil.example"), 421);
  EXPECT_EQ(status("evil.example", "localhost"), 421);
  EXPECT_EQ(status("localhost", "me@localhost"), 400);
  EXPECT_EQ(status("localhost", ""), 400);
  EXPECT_EQ(status("localhost", "127.0.0.1", "http://127.0.0.1"), 200);
  EXPECT_EQ(status("localhost", "127.0.0.1", "http://localhost"), 403);
}

TEST(OriginCheckTest, ARequestSaysOneHostUnlessItIsOld) {
  const OriginCheck check{ServerSettings{}};
  HttpCall call;
  EXPECT_EQ(status_of(check, call), 400);
  call.version = 10;
  EXPECT_EQ(status_of(check, call), 200);
  call = call_to("localhost");
  call.hosts = 2;
  EXPECT_EQ(status_of(check, call), 400);
}

TEST(OriginCheckTest, OnlyOurOwnPagesAndListedOnesAreLetIn) {
  ServerSettings settings;
  settings.cors_origins = {"https://page.example", "http://localhost:3000", "app://obsidian.md"};
  const OriginCheck check(settings);
  for (const char* origin : {"http://localhost:8000", "https://page.example", "HTTPS://Page.Example",
                             "http://localhost:3000", "app://obsidian.md"}) {
    EXPECT_EQ(status_of(check, call_to("localhost:8000", origin)), 200) << origin;
  }
  for (const char* origin :
       {"http://evil.example", "null", "", "http://localhost:8001", "http://localhost", "https://localhost:3000",
        "http://page.example", "https://page.example.evil.example", "file://", "http://127.0.0.1:8000"}) {
    EXPECT_EQ(status_of(check, call_to("localhost:8000", origin)), 403) << origin;
  }
  // A scheme's own port is left out by browsers.
  EXPECT_EQ(status_of(check, call_to("localhost", "http://localhost")), 200);
  EXPECT_EQ(status_of(check, call_to("localhost:443", "https://localhost")), 200);
}

TEST(OriginCheckTest, ListsAreChecked) {
  for (const char* good : {"a.example", "10.0.0.1", "[::1]", "*", "my_service"})
    EXPECT_TRUE(check_allowed_host(good).ok());
  for (const char* bad : {"", "http://a.example", "a.example:80", "*.example", "a b"})
    EXPECT_FALSE(check_allowed_host(bad).ok()) << bad;
  for (const char* good : {"https://a.example", "http://localhost:3000", "*", "app://obsidian.md"})
    EXPECT_TRUE(check_cors_origin(good).ok()) << good;
  for (const char* bad : {"", "a.example", "https://a.example/", "https://a.example/x", "null", "https://*.example"})
    EXPECT_FALSE(check_cors_origin(bad).ok()) << bad;
}

// As a browser would, against the server itself.
TEST(OriginServerTest, PagesOfOthersCanNeitherActNorRead) {
  ServerSettings settings;
  settings.api_keys = {"secret"};
  settings.cors_origins = {"https://page.example"};
  TestServer server(settings);
  const std::string key = "Authorization: Bearer secret\r\n", page = "Origin: https://page.example\r\n";
  const std::string body = TestServer::chat_body(R"("max_tokens":2)");
  // A foreign page's text/plain, which needs no question first; on every route.
  EXPECT_EQ(
      server.client()
          .post("/v1/chat/completions", body, key + "Origin: https://evil.example\r\nContent-Type: text/plain\r\n")
          .status,
      403);
  for (const char* path : {"/v1/models", "/metrics", "/health", "/nothing"}) {
    const TestAnswer answer = server.client().get(path, key + "Origin: https://evil.example\r\n");
    EXPECT_EQ(answer.status, 403) << path;
    EXPECT_EQ(answer.head.find("Access-Control-Allow-Origin"), std::string::npos);
  }
  // A rebound name says what it is.
  TestClient rebound = server.client();
  rebound.send("GET /v1/models HTTP/1.1\r\nHost: evil.example:" + std::to_string(server.port()) + "\r\n" + key +
               "\r\n");
  EXPECT_EQ(rebound.read_answer().status, 421);
  // A listed page asks first, without a key, and then reads answers, streams and errors.
  TestClient browser = server.client();
  browser.send(
      "OPTIONS /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n" + page +
      "Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: authorization, x-stainless-os\r\n\r\n");
  const TestAnswer asked = browser.read_answer(false);
  EXPECT_EQ(asked.status, 204);
  for (const char* header :
       {"Access-Control-Allow-Origin: https://page.example\r\n", "Access-Control-Allow-Methods: GET, POST\r\n",
        "Access-Control-Allow-Headers: authorization, x-stainless-os\r\n", "Vary: Origin\r\n"}) {
    EXPECT_NE(asked.head.find(header), std::string::npos) << header << asked.head;
  }
  EXPECT_EQ(asked.head.find("Allow-Credentials"), std::string::npos);
  const std::string streamed = TestServer::chat_body(R"("max_tokens":2,"stream":true)");
  for (const TestAnswer& answer : {browser.post("/v1/chat/completions", body, key + page),
                                   browser.post("/v1/chat/completions", streamed, key + page),
                                   server.client().post("/v1/chat/completions", body, page)}) {
    EXPECT_NE(answer.head.find("Access-Control-Allow-Origin: https://page.example\r\n"), std::string::npos)
        << answer.head;
  }
  TestClient unlisted = server.client();
  unlisted.send(
      "OPTIONS /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nOrigin: https://evil.example\r\n"
      "Access-Control-Request-Method: POST\r\n\r\n");
  EXPECT_EQ(unlisted.read_answer().status, 403);
}

}  // namespace
}  // namespace paceline
