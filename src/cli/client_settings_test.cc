#include "cli/client_settings.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
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
