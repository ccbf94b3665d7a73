#include "server/console/run_store.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/json/serialize.hpp>
#include <filesystem>
#include <fstream>

namespace paceline {
namespace {

namespace fs = std::filesystem;

class RunStoreTest : public testing::Test {
 protected:
  RunStoreTest() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::temp_directory_path() / ("runs_" + std::to_string(::getpid()) + test->name());
    fs::create_directories(folder_);
  }
  ~RunStoreTest() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string file() const { return folder_ / "below" / "runs.json"; }
  static std::string ids(const RunStore& store) {
    std::string text;
    for (const auto& run : store.all()) text += std::string(run.at("id").as_string());
    return text;
  }

  fs::path folder_;
};

TEST_F(RunStoreTest, OutlivesTheServer) {
  {
    RunStore store(file());
    store.add({{"id", "a"}, {"began", 1.0}, {"svg", "<svg/>"}});
    store.add({{"id", "b"}, {"began", 2.0}});
  }
  RunStore store(file());
  EXPECT_EQ(ids(store), "ba");
  ASSERT_NE(store.find("a"), nullptr);
  EXPECT_EQ(store.find("a")->at("svg"), "<svg/>");
  EXPECT_TRUE(store.remove("a"));
  EXPECT_FALSE(store.remove("a"));
  EXPECT_EQ(ids(RunStore(file())), "b");
}

TEST_F(RunStoreTest, TwoServersKeepEachOthers) {
  RunStore one(file()), other(file());
  one.add({{"id", "a"}, {"began", 1.0}});
  other.add({{"id", "b"}, {"began", 2.0}});
  EXPECT_EQ(ids(RunStore(file())), "ba");
  one.add({{"id", "c"}, {"began", 3.0}});
  EXPECT_EQ(ids(one), "cba");
}

TEST_F(RunStoreTest, TheLastTwenty) {
  RunStore store(file());
  for (int i = 0; i < 25; ++i) store.add({{"id", std::string(1, static_cast<char>('a' + i))}, {"began", i}});
  EXPECT_EQ(ids(store), "yxwvutsrqponmlkjihgf");
  EXPECT_EQ(ids(RunStore(file())), ids(store));
}

TEST_F(RunStoreTest, WhatElseStandsInTheFile) {
  fs::create_directories(fs::path(file()).parent_path());
  for (const char* text : {"", "[", "7", "{}", R"([7,{"id":"a"},{"id":1,"began":1},{"began":1}])"}) {
    std::ofstream(file()) << text;
    EXPECT_EQ(ids(RunStore(file())), "") << text;
  }
  RunStore nowhere("/proc/none/runs.json"), memory("");
  nowhere.add({{"id", "a"}, {"began", 1}});
  memory.add({{"id", "b"}, {"began", 1}});
  EXPECT_EQ(ids(nowhere) + ids(memory), "ab");
}

}  // namespace
}  // namespace paceline
