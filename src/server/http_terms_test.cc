// Headers that say how a request is to be read; and what is not known is not guessed.
#include "server/http_terms.h"

#include <gtest/gtest.h>

#include "server/server_for_tests.h"

namespace paceline {
namespace {

TEST(HttpTermsTest, TargetsMayBeWhole) {
  const auto read = [](const char* target) {
    const RequestTarget made = read_target(target);
    return made.path + " " + made.authority.value_or("-");
  };
  EXPECT_EQ(read("/health?a=b"), "/health -");
  EXPECT_EQ(read("*"), "* -");
  EXPECT_EQ(read("http://localhost/health?a"), "/health localhost");
  EXPECT_EQ(read("HTTPS://localhost:8000/v1/models"), "/v1/models localhost:8000");
  EXPECT_EQ(read("http://localhost"), "/ localhost");
  EXPECT_EQ(read("http://localhost?x=/health"), "/ localhost");
  EXPECT_EQ(read("http:///health"), "/health ");
  EXPECT_EQ(read("ftp://localhost/health"), "ftp://localhost/health -");
}

TEST(HttpTermsTest, WhatIsNotKnownIsRefused) {
  TestServer server;
  const auto status = [&](const std::string& target, const std::string& headers, const std::string& body = "") {
    TestClient client = server.client();
    client.send((body.empty() ? "GET " : "POST ") + target + " HTTP/1.1\r\nHost: localhost\r\n" + headers + "\r\n" +
                body);
    return client.read_answer().status;
  };
  const std::string chunked = "10\r\n{\"prompt\":\"a b\"}\r\n0\r\n\r\n", whole = R"({"prompt":"a b"})";
  const std::string length = "Content-Length: 16\r\n";
  EXPECT_EQ(status("/tokenize", "Transfer-Encoding: Chunked\r\n", chunked), 200);
  EXPECT_EQ(status("/tokenize", "Transfer-Encoding: gzip, chunked\r\n", chunked), 501);
  EXPECT_EQ(status("/tokenize", "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n", chunked), 501);
  EXPECT_EQ(status("/health", "Transfer-Encoding: gzip\r\n"), 501);
  EXPECT_EQ(status("/tokenize", length + "Content-Encoding: identity\r\n", whole), 200);
  EXPECT_EQ(status("/tokenize", length + "Content-Encoding: gzip\r\n", whole), 415);
  EXPECT_EQ(status("/tokenize", length + "Expect: 100-Continue\r\n", whole), 200);
  EXPECT_EQ(status("/tokenize", length + "Expect: a-miracle\r\n", whole), 417);
  EXPECT_EQ(status("http://localhost/health?x", ""), 200);
  EXPECT_EQ(status("http://evil.example/health", ""), 421);
}

// Nothing that follows an unknown coding is read as a request.
TEST(HttpTermsTest, AnUnknownCodingIsTheConnectionsEnd) {
  TestServer server;
  TestClient client = server.client();
  client.send(
      "POST /tokenize HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n"
      "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(client.read_answer().status, 501);
  EXPECT_FALSE(client.read_some());
  EXPECT_EQ(client.buffered(), "");
}

}  // namespace
}  // namespace paceline
