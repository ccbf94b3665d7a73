#include "cli/client_settings.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace paceline {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& file) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

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

TEST(ClientSettings, FilesLieWhereTheClientLooks) {
  const auto place = [](const char* client, const char* variable) {
    return client_file(*client_settings(client, {}), [&](const char* name) -> const char* {
      if (std::string_view(name) == "HOME") return "/home/u";
      return std::string_view(name) == variable ? "/else" : nullptr;
    });
  };
  EXPECT_EQ(place("codex", ""), "/home/u/.codex/config.toml");
  EXPECT_EQ(place("codex", "CODEX_HOME"), "/else/config.toml");
  EXPECT_EQ(place("claude", "CLAUDE_CONFIG_DIR"), "/else/settings.json");
  EXPECT_EQ(place("opencode", "XDG_CONFIG_HOME"), "/else/opencode/opencode.json");
  EXPECT_EQ(place("pi", "CODEX_HOME"), "/home/u/.pi/agent/models.json");
  EXPECT_EQ(place("openai", ""), "");
}

TEST(ClientSettings, WhatWasThereComesBack) {
  const fs::path folder = fs::path(testing::TempDir()) / "paceline_client_settings";
  fs::remove_all(folder);
  const std::string file = (folder / "deep/config").string();
  EXPECT_FALSE(put_back_old(file).ok()) << "nothing was written";
  ASSERT_TRUE(write_keeping_old(file, "ours").ok());
  EXPECT_EQ(text_of(file), "ours");
  EXPECT_FALSE(write_keeping_old(file, "again").ok()) << "the way back would be lost";
  ASSERT_TRUE(put_back_old(file).ok());
  EXPECT_FALSE(fs::exists(file)) << "there was none";
  std::ofstream(file) << "theirs";
  ASSERT_TRUE(write_keeping_old(file, "ours").ok());
  ASSERT_TRUE(put_back_old(file).ok());
  EXPECT_EQ(text_of(file), "theirs");
  fs::remove_all(folder);
}

}  // namespace
}  // namespace paceline
