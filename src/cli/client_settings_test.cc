#include "cli/client_settings.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

namespace paceline {
namespace {

TEST(ClientSettings, EachKnowsWhereTheServerIs) {
  const ServerPlace server{"http://10.0.0.1:99", "m", "k", 32768};
  for (const std::string& client : known_clients()) {
    const auto settings = client_settings(client, server);
    ASSERT_TRUE(settings) << client;
    std::string all = settings->text;
    for (const auto& [name, value] : settings->variables) all += name + value;
    EXPECT_NE(all.find("http://10.0.0.1:99"), std::string::npos) << client;
    if (settings->file.ends_with(".json")) {
      EXPECT_TRUE(boost::json::parse(settings->text).is_object()) << client;
    }
  }
  EXPECT_NE(client_settings("codex", server)->text.find("model_context_window = 32768"), std::string::npos);
  EXPECT_FALSE(client_settings("other", server));
}

TEST(ClientSettings, TheServersAddressIsTheSameWithAndWithoutItsVersion) {
  for (const char* url : {"http://h:1", "http://h:1/", "http://h:1/v1", "http://h:1/v1/", "http://h:1//v1//"})
    EXPECT_EQ(server_root(url), "http://h:1") << url;
  EXPECT_EQ(server_root("http://h/below/v1"), "http://h/below");
  EXPECT_EQ(server_root("http://h/v12"), "http://h/v12");
}

// Names and keys are strangers': none of them ends the place where it stands.
TEST(ClientSettings, WhatNeedsQuotesHasThem) {
  const ServerPlace server{"http://h", "a\"b\\c", "k\"; $(id)", 0};
  for (const char* client : {"claude", "opencode", "pi"}) {
    const std::string read = boost::json::serialize(boost::json::parse(client_settings(client, server)->text));
    EXPECT_NE(read.find(R"(a\"b\\c)"), std::string::npos) << client << read;
  }
  EXPECT_NE(client_settings("codex", server)->text.find(R"(model = "a\"b\\c")"), std::string::npos);
  EXPECT_NE(client_settings("continue", server)->text.find(R"(model: "a\"b\\c")"), std::string::npos);
  for (const char* client : {"codex", "claude", "openai", "anthropic"}) {
    bool is_told = false;
    const auto settings = client_settings(client, server);
    for (const auto& [name, value] : settings->variables) is_told |= value == server.key;
    EXPECT_TRUE(is_told) << client << ": variables are as they are";
  }
  EXPECT_EQ(shell_word("http://127.0.0.1:8000/v1"), "http://127.0.0.1:8000/v1");
  EXPECT_EQ(shell_word("a b;$(id)"), "'a b;$(id)'");
  EXPECT_EQ(shell_word("it's"), R"('it'\''s')");
  EXPECT_EQ(shell_word(""), "''");
}

}  // namespace
}  // namespace paceline
