#include "cli/client_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
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
  static Result<RestoredFile> restored(const std::string& path) {
    return restore_client_file(path, codex_at("http://a", 512));
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
  EXPECT_FALSE(restored(path).ok()) << "nothing was written";
  ASSERT_TRUE(write_client_file(path, codex_at("http://a")).ok());
  EXPECT_EQ(text_of(path), codex_at("http://a").text);
  ASSERT_TRUE(restored(path).ok());
  EXPECT_EQ(files(), 0u) << "there was none, and nothing is left beside it";
  const std::string theirs = "# mine\nmodel = \"other\"\n";
  file("config.toml", theirs);
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
  ASSERT_TRUE(write_client_file(path, codex_at("http://a")).ok());
  ASSERT_TRUE(restored(path).ok());
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
  ASSERT_TRUE(restored(path).ok());
  EXPECT_EQ(text_of(path), theirs);
}

// Between our writing and the way back somebody may write, too; before and behind a second writing of ours.
TEST_F(ClientFile, WhatWasEditedStays) {
  const auto ours = *client_settings("claude", {"http://h", "m", "k", 0});
  for (const bool writes_again : {false, true}) {
    const std::string path = file("settings.json", "{\"a\": 1, \"env\": {\"API_TIMEOUT_MS\": \"7\"}}");
    ASSERT_TRUE(write_client_file(path, ours).ok());
    const auto added = merged_json(text_of(path), R"({"b": 2, "env": {"MINE": "1"}})");
    ASSERT_TRUE(added.ok());
    std::ofstream(path) << *added;
    if (writes_again) {
      ASSERT_TRUE(write_client_file(path, *client_settings("claude", {"http://other", "m", "k", 0})).ok());
    }
    const auto back = restore_client_file(path, ours);
    ASSERT_TRUE(back.ok());
    EXPECT_TRUE(back->was_edited);
    EXPECT_TRUE(back->keeps_edits);
    EXPECT_NE(text_of(back->kept).find("MINE"), std::string::npos);
    fs::remove(back->kept);
    EXPECT_EQ(boost::json::parse(text_of(path)),
              boost::json::parse(R"({"a": 1, "env": {"API_TIMEOUT_MS": "7", "MINE": "1"}, "b": 2})"))
        << text_of(path);
    EXPECT_EQ(files(), 1u);
  }
}

// Something else than an object stood where ours needs one.
TEST_F(ClientFile, WhatWasNoObjectComesBackAsItWas) {
  const auto ours = *client_settings("claude", {"http://h", "m", "k", 0});
  for (const char* was : {"null", "[1, 2]", "\"x\"", "{}"}) {
    const std::string path = file("settings.json", fmt::format("{{\"env\": {}, \"a\": 1}}\n", was));
    ASSERT_TRUE(write_client_file(path, ours).ok());
    const auto edited = merged_json(text_of(path), R"({"b": 2})");
    ASSERT_TRUE(edited.ok());
    std::ofstream(path) << *edited;
    ASSERT_TRUE(restore_client_file(path, ours).ok());
    EXPECT_EQ(boost::json::parse(text_of(path)),
              boost::json::parse(fmt::format(R"({{"env": {}, "a": 1, "b": 2}})", was)))
        << text_of(path);
    // What somebody added to ours needs an object.
    std::ofstream(path) << fmt::format("{{\"env\": {}}}\n", was);
    ASSERT_TRUE(write_client_file(path, ours).ok());
    const auto more = merged_json(text_of(path), R"({"env": {"MINE": "1"}})");
    ASSERT_TRUE(more.ok());
    std::ofstream(path) << *more;
    ASSERT_TRUE(restore_client_file(path, ours).ok());
    EXPECT_EQ(boost::json::parse(text_of(path)), boost::json::parse(R"({"env": {"MINE": "1"}})")) << text_of(path);
  }
}

// What we had put there may have been edited, too: it goes, but not without a copy.
TEST_F(ClientFile, WhatWasEditedOfOursIsKeptBesideIt) {
  const auto ours = *client_settings("claude", {"http://h", "m", "k", 0});
  const std::string path = file("settings.json", "{}");
  ASSERT_TRUE(write_client_file(path, ours).ok());
  const auto edited = merged_json(text_of(path), R"({"env": {"ANTHROPIC_BASE_URL": "http://mine"}})");
  ASSERT_TRUE(edited.ok());
  std::ofstream(path) << *edited;
  const auto back = restore_client_file(path, ours);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(text_of(path).find("http://mine"), std::string::npos);
  EXPECT_EQ(text_of(back->kept), *edited);
}

// Where all of our names were there before the first writing, a second one does not take that text's place.
TEST_F(ClientFile, WhatHadAllOfOurNamesStaysTheOneBefore) {
  const std::string path = file("settings.json", client_settings("claude", {"http://h", "m", "pasted", 0})->text);
  const std::string before = text_of(path);
  ASSERT_TRUE(write_client_file(path, *client_settings("claude", {"http://h", "m", "first", 0})).ok());
  const auto edited = merged_json(text_of(path), R"({"mine": 1})");
  ASSERT_TRUE(edited.ok());
  std::ofstream(path) << *edited;
  const auto second = *client_settings("claude", {"http://h", "m", "second", 0});
  ASSERT_TRUE(write_client_file(path, second).ok());
  EXPECT_EQ(text_of(path + ".before-paceline"), before);
  ASSERT_TRUE(restore_client_file(path, second).ok());
  EXPECT_NE(text_of(path).find("pasted"), std::string::npos);
  EXPECT_NE(text_of(path).find("mine"), std::string::npos);
}

// Without a note of what was written there would be no way back.
TEST_F(ClientFile, NothingIsWrittenWithoutAWayBack) {
  const std::string path = file("settings.json", "{\"a\": 1}");
  fs::create_symlink(path + ".d/nowhere/file", path + ".written-by-paceline");
  EXPECT_FALSE(write_client_file(path, *client_settings("claude", {"http://h", "m", "k", 0})).ok());
  EXPECT_EQ(text_of(path), "{\"a\": 1}");
  EXPECT_FALSE(fs::exists(path + ".before-paceline"));
}

// What cannot be read any more, and what has no parts that are known, is kept whole.
TEST_F(ClientFile, WhatCannotBeTakenApartIsKept) {
  const auto expect_kept = [&](const char* client, const char* name, const std::string& edited) {
    const auto ours = *client_settings(client, {"http://h", "m", "k", 0});
    const std::string path = file(name, "");
    ASSERT_TRUE(write_client_file(path, ours).ok());
    std::ofstream(path) << edited;
    const auto back = restore_client_file(path, ours);
    ASSERT_TRUE(back.ok());
    EXPECT_EQ(back->kept, path + ".before-restore");
    EXPECT_EQ(text_of(back->kept), edited);
    EXPECT_FALSE(fs::exists(path));
  };
  expect_kept("claude", "settings.json", "{\"b\": ");
  expect_kept("continue", "config.yaml", "name: paceline\nmine: 1\n");
}

// Put back by hand, or written anew: what lies beside it is of another time.
TEST_F(ClientFile, WhatIsBesideItFromAnotherTimeIsNotPutBack) {
  const std::string path = file("config.toml", "model = \"old\"\n");
  ASSERT_TRUE(write_client_file(path, codex_at("http://a")).ok());
  const std::string theirs = "model = \"new\"\n";
  std::ofstream(path) << theirs;
  ASSERT_TRUE(write_client_file(path, codex_at("http://b")).ok());
  ASSERT_TRUE(restored(path).ok());
  EXPECT_EQ(text_of(path), theirs);
  EXPECT_EQ(text_of(path + ".before-paceline-2"), "model = \"old\"\n") << "nothing is thrown away";
  // Without a word of ours about it.
  std::ofstream(path + ".before-paceline") << "model = \"somebody's\"\n";
  EXPECT_FALSE(restored(path).ok());
  EXPECT_EQ(text_of(path), theirs);
  ASSERT_TRUE(write_client_file(path, codex_at("http://b")).ok());
  ASSERT_TRUE(restored(path).ok());
  EXPECT_EQ(text_of(path), theirs);
}

TEST_F(ClientFile, APipeBesideItIsRefused) {
  for (const char* beside : {".before-paceline", ".none-before-paceline", ".written-by-paceline"}) {
    const std::string path = file("config.toml", "model = \"mine\"\n");
    ASSERT_EQ(::mkfifo((path + beside).c_str(), 0600), 0);
    for (const Status& done : {write_client_file(path, codex_at("http://a")), Status(restored(path).error())}) {
      ASSERT_FALSE(done.ok()) << beside;
      EXPECT_NE(done.error().message.find(std::string(beside) + ": expected a file"), std::string::npos);
    }
    EXPECT_EQ(text_of(path), "model = \"mine\"\n");
    fs::remove(path + beside);
  }
}

TEST_F(ClientFile, OtherSettingsOfAJsonFileStay) {
  const std::string path = file("settings.json", R"({ // mine
    "permissions": {"allow": ["Bash"]}, "env": {"MINE": "1", "ANTHROPIC_MODEL": "other"}, "x": [], })");
  ASSERT_TRUE(write_client_file(path, *client_settings("claude", {"http://h", "m", "k", 0})).ok());
  boost::json::parse_options options;
  options.allow_comments = options.allow_trailing_commas = true;
  const auto read = boost::json::parse(text_of(path), {}, options);
  EXPECT_TRUE(text_of(path).starts_with("{ // mine\n"));
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
  for (const char* text : {"{\"a\": ", "[1]", "{\"a\": 1,, \"b\": 2}", "{} x"}) {
    const std::string path = file("settings.json", text);
    EXPECT_FALSE(write_client_file(path, *client_settings("claude", {})).ok());
    EXPECT_EQ(text_of(path), text);
    EXPECT_EQ(files(), 1u);
  }
  for (const char* text :
       {"a = \"x\n", "model_providers = { x = 1 }\n", "[model_providers]\nno key\n", "a = [1, 2\n[t]\nb = 1\n", "a =\n",
        "a = b\n", "a = 1 2\n", "[t\nb = 1\n", "[t]]\n", "[[t]\n", "a = \"\"\"x\n", "a = { b = 1\n", "a.b. = 1\n",
        "= 1\n", "a = 1\na = 2\n", "[t]\n[t]\n", "a = \"\\q\"\n", "a = [1 2]\n", "a = 1]\n"}) {
    const std::string path = file("config.toml", text);
    EXPECT_FALSE(write_client_file(path, codex_at("http://a")).ok()) << text;
    EXPECT_EQ(text_of(path), text);
  }
}

TEST_F(ClientFile, WhereItIsBrokenIsSaid) {
  const auto said = [](const Result<std::string>& made) { return made.ok() ? "nothing" : made.error().message; };
  EXPECT_EQ(said(merged_toml("a = 1\n\nb = [\n1,\n2 3]\n", "c = 1\n", {})), "line 5: expected , or ], found '3]'");
  EXPECT_EQ(said(merged_toml("a = 1\nb = \"x\n", "c = 1\n", {})),
            "line 2: expected \" at the end of a text, found '\"x'");
  EXPECT_EQ(said(merged_toml("[t]\na = 1\n[t]\n", "c = 1\n", {})),
            "line 3: expected each key once, found this one twice");
  EXPECT_TRUE(said(merged_json("{\n\"a\": 1,\n\"b\" 2\n}", "{}")).starts_with("line 3: expected JSON"));
  EXPECT_TRUE(said(merged_json("{\n\"a\": 1,\n", "{}")).starts_with("line 3: expected JSON"));
}

// A pipe that nobody writes into has no end.
TEST_F(ClientFile, APipeIsNoFile) {
  const std::string path = (fs::path(file("x.json", "{}")).parent_path() / "pipe.json").string();
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const size_t before = files();
  const Status written = write_client_file(path, *client_settings("claude", {}));
  ASSERT_FALSE(written.ok());
  EXPECT_NE(written.error().message.find("expected a file"), std::string::npos);
  EXPECT_EQ(files(), before);
}

// A link to a place where nothing is yet: the link stays, and nothing is there again.
TEST_F(ClientFile, ALinkToNothingIsOneAgain) {
  const fs::path folder = fs::path(file("x.json", "{}")).parent_path();
  fs::create_symlink("second.json", folder / "first.json");
  fs::create_symlink("target.json", folder / "second.json");
  const std::string path = (folder / "first.json").string();
  ASSERT_TRUE(write_client_file(path, *client_settings("claude", {})).ok());
  EXPECT_TRUE(fs::exists(folder / "target.json"));
  ASSERT_TRUE(restore_client_file(path, *client_settings("claude", {})).ok());
  EXPECT_FALSE(fs::exists(folder / "target.json"));
  EXPECT_TRUE(fs::is_symlink(path));
  EXPECT_TRUE(fs::is_symlink(folder / "second.json"));
  EXPECT_EQ(files(), 3u);
}

// opencode reads both, the one with comments last.
TEST_F(ClientFile, TheFileThatCountsIsWritten) {
  const auto ours = *client_settings("opencode", {});
  const auto folder = folder_.string();
  const auto environment = [&](const char* name) -> const char* {
    return std::string_view(name) == "XDG_CONFIG_HOME" ? folder.c_str() : nullptr;
  };
  const fs::path usual = folder_ / "opencode/opencode.json", other = folder_ / "opencode/opencode.jsonc";
  fs::create_directories(usual.parent_path());
  EXPECT_EQ(client_file(ours, environment), usual);
  EXPECT_EQ(written_client_file(ours, environment), usual);
  std::ofstream(other) << "{ // mine\n  \"theme\": \"x\"\n}\n";
  EXPECT_EQ(client_file(ours, environment), other);
  EXPECT_EQ(written_client_file(ours, environment), usual) << "where nothing was written yet";
  ASSERT_TRUE(write_client_file(other, ours).ok());
  EXPECT_EQ(written_client_file(ours, environment), other);
  EXPECT_TRUE(text_of(other).starts_with("{ // mine\n  \"theme\": \"x\",\n  \"$schema\"")) << text_of(other);
  ASSERT_TRUE(restore_client_file(other, ours).ok());
  EXPECT_EQ(text_of(other), "{ // mine\n  \"theme\": \"x\"\n}\n");
}

TEST(MergedJson, TheTextOfWhatIsNotOursStays) {
  const auto merged = [](const std::string& old) {
    const auto made = merged_json(old, R"({"env": {"A": "1", "B": "2"}, "paceline": {"x": 1}, "last": [1]})");
    return made.ok() ? *made : made.error().message;
  };
  const std::string env = "\"env\": {\n    \"A\": \"1\",\n    \"B\": \"2\"\n  }";
  const std::string rest = "\"paceline\": {\n    \"x\": 1\n  },\n  \"last\": [\n    1\n  ]";
  EXPECT_EQ(merged("{}"), "{\n  " + env + ",\n  " + rest + "\n}");
  EXPECT_EQ(merged("{ /* } */ }"), "{ /* } */\n  " + env + ",\n  " + rest + "\n}");
  // Numbers, blanks, comments, the order, what stands twice, and the mark at the front.
  EXPECT_EQ(merged("\xEF\xBB\xBF{\"n\": [1.50, 1e400,  -0.0], // \"env\": {\n  \"u\": \"\\u00e4\\\"}\" // last\n}\n"),
            "\xEF\xBB\xBF{\"n\": [1.50, 1e400,  -0.0], // \"env\": {\n  \"u\": \"\\u00e4\\\"}\", // last\n  " + env +
                ",\n  " + rest + "\n}\n");
  EXPECT_EQ(
      merged("{\"last\": 1.0, \"env\": {\"B\": 9, \"M\": 1.10,}, \"paceline\": {\"old\": {}}}"),
      "{\"last\": [\n    1\n  ], \"env\": {\"B\": \"2\", \"M\": 1.10,\n    \"A\": \"1\"\n  }, \"paceline\": {\n    "
      "\"x\": 1\n  }}");
  EXPECT_EQ(
      merged("{\"last\": 1, \"last\": 2, \"env\": {\"A\":\"1\",\"B\":\"2\"}, \"paceline\": 0}"),
      "{\"last\": 1, \"last\": [\n    1\n  ], \"env\": {\"A\":\"1\",\"B\":\"2\"}, \"paceline\": {\n    \"x\": 1\n  }}");
  EXPECT_EQ(merged(merged("{\"a\": 1}")), merged("{\"a\": 1}")) << "twice is once";
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

TEST(UnmergedJson, TakesOutWhatWasSetAndNoMore) {
  const std::string ours = R"({"env": {"A": "1", "B": "2"}, "paceline": {"x": 1}, "last": [1]})";
  const auto back = [&](const std::string& before, const std::string& add) {
    const auto with = merged_json(before, ours);
    const auto edited = add.empty() ? with : merged_json(*with, add);
    const auto made = unmerged_json(*edited, before, ours);
    return made.ok() ? *made : made.error().message;
  };
  for (const char* before : {"{\n  \"a\": 1\n}\n", "{\n  \"a\": 1.50, // mine\n  \"env\": {\n    \"M\": 1\n  }\n}\n",
                             "{\"last\": 1.0, \"env\": {\"B\": 9, \"M\": 1.10}, \"paceline\": {\"old\": {}}}",
                             "\xEF\xBB\xBF{\n  \"env\": {\"A\": 7, \"B\": 8},\n  \"z\": []\n}\n"}) {
    boost::json::parse_options options;
    options.allow_comments = true;
    const auto parsed = [&](std::string_view text) {
      if (text.starts_with("\xEF")) text.remove_prefix(3);
      return boost::json::parse(text, {}, options);
    };
    EXPECT_EQ(parsed(back(before, "")), parsed(before)) << back(before, "");
    auto added = parsed(before).as_object();
    added["more"] = 3;
    EXPECT_EQ(parsed(back(before, "{\"more\": 3}")), boost::json::value(added)) << back(before, "{\"more\": 3}");
  }
  EXPECT_EQ(back("{\n  \"a\": 1 // mine\n}\n", ""), "{\n  \"a\": 1 // mine\n}\n");
  EXPECT_EQ(back("{}", "{\"more\": 3}"), "{\n  \"more\": 3\n}");
  EXPECT_FALSE(unmerged_json("{", "{}", ours).ok());
  EXPECT_FALSE(unmerged_json("{}", "{", ours).ok());
}

TEST(UnmergedToml, TakesOutWhatWasSetAndNoMore) {
  const std::vector<std::string> ours{"model", "p.ours"};
  const auto back = [&](const std::string& before, const std::string& add) {
    const auto with = merged_toml(before, "model = 1\n\n[p.ours]\nu = 2\n", ours);
    const auto made = unmerged_toml(*with + add, before, ours);
    return made.ok() ? *made : made.error().message;
  };
  EXPECT_EQ(back("a = 1\n", "[new]\nx = 1\n"), "a = 1\n\n[new]\nx = 1\n");
  EXPECT_EQ(back("model = \"x\" # c\na = 1\n[p.ours]\nv = 3\n", "[new]\nx = 1\n"),
            "model = \"x\" # c\n\na = 1\n\n[new]\nx = 1\n\n[p.ours]\nv = 3\n");
  EXPECT_EQ(back("", ""), "");
  EXPECT_EQ(back("[p]\nours = 3\n", ""), "p.ours stood within [p]");
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
  // All that a value may be.
  const std::string values =
      "a = 1979-05-27 07:32:00Z # c\nb = -inf\nc = { d.e = 1_000, \"f\" = [0x1F, 1e-3], }\n\"p.ours\" = ''\n[[l]]\nm = "
      "true\n"
      "[[l]]\nm = 07:32:00\n[t.\"x.y\"]\nn = \"\\u00e4\\t\"\n";
  EXPECT_EQ(merged(values), "model = 1\n\n" + values + "\n[p.ours]\nu = 2\n");
  EXPECT_EQ(merged("\xEF\xBB\xBF"
                   "a = 1\r\n"),
            "\xEF\xBB\xBFmodel = 1\n\na = 1\r\n\n[p.ours]\nu = 2\n");
}

}  // namespace
}  // namespace paceline
