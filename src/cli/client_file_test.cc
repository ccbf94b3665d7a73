#include "cli/client_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/merged_file.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& file) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

ClientSettings codex_at(const std::string& url, int32_t context = 0) {
  return *client_settings("codex", {url, "m", "k", context});
}

class ClientFile : public testing::Test {
 protected:
  ~ClientFile() override { fs::remove_all(folder_); }
  // With these words in it; "": there is none.
  std::string file(const std::string& name, const std::string& text) {
    const fs::path made = folder_ / "deep" / name;
    fs::create_directories(made.parent_path());
    if (!text.empty()) std::ofstream(made) << text;
    return made.string();
  }
  [[nodiscard]] size_t files() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_ / "deep"), fs::directory_iterator()));
  }
  fs::path folder_ = fs::path(testing::TempDir()) / ("paceline_client_file_" + std::to_string(getpid()));
};

TEST_F(ClientFile, LiesWhereTheClientLooks) {
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

TEST_F(ClientFile, WhatWasThereComesBack) {
  const std::string path = file("config.toml", "");
  EXPECT_FALSE(restore_client_file(path).ok()) << "nothing was written";
  ASSERT_TRUE(write_client_file(path, codex_at("http://a")).ok());
  EXPECT_EQ(text_of(path), codex_at("http://a").text);
  ASSERT_EQ(*restore_client_file(path), "");
  EXPECT_EQ(files(), 0u) << "there was none, and nothing is left beside it";
  const std::string theirs = "# mine\nmodel = \"other\"\n";
  file("config.toml", theirs);
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
  ASSERT_TRUE(write_client_file(path, codex_at("http://a")).ok());
  ASSERT_EQ(*restore_client_file(path), "");
  EXPECT_EQ(text_of(path), theirs);
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(files(), 1u);
}

TEST_F(ClientFile, AnotherServerTakesThePlaceOfTheFirst) {
  const std::string theirs = "approval_policy = \"never\"\n";
  const std::string path = file("config.toml", theirs);
  ASSERT_TRUE(write_client_file(path, codex_at("http://first", 512)).ok());
  ASSERT_TRUE(write_client_file(path, codex_at("http://second")).ok());
  EXPECT_EQ(text_of(path), "model = \"m\"\nmodel_provider = \"paceline\"\n\n" + theirs +
                               "\n[model_providers.paceline]\nname = \"paceline\"\nbase_url = \"http://second/v1\"\n"
                               "env_key = \"PACELINE_KEY\"\nwire_api = \"responses\"\n");
  ASSERT_EQ(*restore_client_file(path), "");
  EXPECT_EQ(text_of(path), theirs);
}

// Between our writing and the way back somebody may write, too; before and behind a second writing of ours.
TEST_F(ClientFile, WhatWasEditedIsKept) {
  const std::string path = file("settings.json", "{\"a\": 1}");
  const auto ours = *client_settings("claude", {});
  for (const bool writes_again : {false, true}) {
    ASSERT_TRUE(write_client_file(path, ours).ok());
    std::ofstream(path) << "{\"b\": 2}";
    if (writes_again) {
      ASSERT_TRUE(write_client_file(path, ours).ok());
    }
    const auto kept = restore_client_file(path);
    ASSERT_TRUE(kept.ok());
    EXPECT_EQ(*kept, path + (writes_again ? ".before-restore-2" : ".before-restore"));
    EXPECT_NE(text_of(*kept).find("\"b\": 2"), std::string::npos);
    EXPECT_EQ(text_of(path), "{\"a\": 1}");
  }
}

TEST_F(ClientFile, OtherSettingsOfAJsonFileStay) {
  const std::string path = file("settings.json", R"({ // mine
    "permissions": {"allow": ["Bash"]}, "env": {"MINE": "1", "ANTHROPIC_MODEL": "other"}, "x": [], })");
  ASSERT_TRUE(write_client_file(path, *client_settings("claude", {"http://h", "m", "k", 0})).ok());
  const auto read = boost::json::parse(text_of(path));
  EXPECT_EQ(read.at("permissions").at("allow").at(0), "Bash");
  EXPECT_EQ(read.at("env").at("MINE"), "1");
  EXPECT_EQ(read.at("env").at("ANTHROPIC_MODEL"), "m");
  EXPECT_EQ(read.at("env").at("ANTHROPIC_BASE_URL"), "http://h");
  EXPECT_TRUE(read.at("x").get_array().empty());
  const std::string providers = file("opencode.json", R"({"provider": {"else": {}}})");
  for (const char* model : {"one", "two"})
    ASSERT_TRUE(write_client_file(providers, *client_settings("opencode", {"http://h", model, "k", 0})).ok());
  const auto both = boost::json::parse(text_of(providers)).at("provider");
  EXPECT_TRUE(both.get_object().contains("else"));
  EXPECT_EQ(both.at("paceline").at("models").get_object().size(), 1u) << "ours is the last one";
}

TEST_F(ClientFile, WhatCannotBeReadIsNotTouched) {
  for (const char* text : {"{\"a\": ", "[1]", "{\"a\":[1e400]}"}) {
    const std::string path = file("settings.json", text);
    EXPECT_FALSE(write_client_file(path, *client_settings("claude", {})).ok());
    EXPECT_EQ(text_of(path), text);
    EXPECT_EQ(files(), 1u);
  }
  for (const char* text : {"a = \"x\n", "model_providers = { x = 1 }\n", "[model_providers]\nno key\n"}) {
    const std::string path = file("config.toml", text);
    EXPECT_FALSE(write_client_file(path, codex_at("http://a")).ok()) << text;
    EXPECT_EQ(text_of(path), text);
  }
}

// What is put back later is what stood there before we wrote, not before we could not.
TEST_F(ClientFile, WhatCannotBeWrittenLeavesNothingBehind) {
  const std::string path = (fs::path(file("x.json", "{}")).parent_path() / "loop.json").string();
  fs::create_symlink("loop.json", path);
  const size_t before = files();
  EXPECT_FALSE(write_client_file(path, *client_settings("claude", {})).ok());
  EXPECT_EQ(files(), before);
}

TEST_F(ClientFile, ANewOneIsItsOwnersAlone) {
  const std::string path = (fs::path(file("x.json", "{}")).parent_path() / "new.json").string();
  ASSERT_TRUE(write_client_file(path, *client_settings("claude", {})).ok());
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST(MergedToml, OtherTablesAndCommentsStay) {
  const std::vector<std::string> ours{"model", "p.ours"};
  const auto merged = [&](const std::string& old) {
    const auto made = merged_toml(old, "model = 1\n\n[p.ours]\nu = 2\n", ours);
    return made.ok() ? *made : made.error().message;
  };
  EXPECT_EQ(merged(""), "model = 1\n\n[p.ours]\nu = 2\n");
  EXPECT_EQ(merged(merged("")), merged("")) << "twice is once";
  EXPECT_EQ(merged("# c\n\"model\" = \"x\" # d\nmodels = 3\n[t]\nmodel = 4"),
            "model = 1\n\n# c\nmodels = 3\n[t]\nmodel = 4\n\n[p.ours]\nu = 2\n");
  // Ours as it can be written otherwise; and neighbours of it.
  EXPECT_EQ(merged("[p.ours]\nu = 9\n[p.ours.deep]\nv = 9\n[p.other]\nu = 3\n"),
            "model = 1\n\n[p.other]\nu = 3\n\n[p.ours]\nu = 2\n");
  EXPECT_EQ(merged("[p]\nours = { u = 9 }\nours2 = 3\n"), "model = 1\n\n[p]\nours2 = 3\n\n[p.ours]\nu = 2\n");
  EXPECT_EQ(merged("p.ours.u = 9\n[[list]]\na = 1\n"), "model = 1\n\n[[list]]\na = 1\n\n[p.ours]\nu = 2\n");
  // What looks like a table or a key and stands in a text or a list.
  const std::string texts =
      "a = \"\"\"\n[p.ours]\nmodel = 2\n\"\"\"\nb = [\n[1, 2], # ]\n'x]',\n]\nc = '''\nmodel = 5'''\n";
  EXPECT_EQ(merged(texts), "model = 1\n\n" + texts + "\n[p.ours]\nu = 2\n");
}

}  // namespace
}  // namespace paceline
