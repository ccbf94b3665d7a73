#include "server/console/all_time.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace paceline {
namespace {

namespace fs = std::filesystem;

class AllTimeTest : public testing::Test {
 protected:
  AllTimeTest() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::temp_directory_path() / ("totals_" + std::to_string(::getpid()) + test->name());
  }
  ~AllTimeTest() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string file() const { return folder_ / "below" / "totals.json"; }
  static HistorySample sample(double at, double output) {
    HistorySample made{};
    made[kTime] = at;
    made[kOutputTokens] = output;
    return made;
  }
  static double output(const AllTime& one) { return one.before().at("output").to_number<double>(); }

  fs::path folder_;
};

TEST_F(AllTimeTest, EachServerAddsWhatItCounted) {
  {
    AllTime first(file());
    EXPECT_EQ(output(first), 0);
    first.note(sample(1000, 5));
    first.note(sample(1001, 9));
    EXPECT_EQ(output(first), 0) << "its own are not among those before";
  }
  {
    AllTime second(file());
    EXPECT_EQ(output(second), 9);
    second.note(sample(2000, 1));
    second.note(sample(2061, 4));
    second.note(sample(2062, 6));
    EXPECT_EQ(output(second), 9);
  }
  EXPECT_EQ(output(AllTime(file())), 15);
}

TEST_F(AllTimeTest, TwoAtOnce) {
  {
    AllTime one(file()), other(file());
    one.note(sample(1000, 5));
    other.note(sample(1000, 7));
    one.note(sample(1100, 6));
    EXPECT_EQ(output(one), 7) << "found when it wrote";
    other.note(sample(1100, 8));
  }
  EXPECT_EQ(output(AllTime(file())), 14);
}

TEST_F(AllTimeTest, WhatElseStandsInTheFile) {
  fs::create_directories(fs::path(file()).parent_path());
  for (const char* text : {"", "[", "7", "{}", R"({"output":"9"})", R"({"output":-9})"}) {
    std::ofstream(file()) << text;
    EXPECT_EQ(output(AllTime(file())), 0) << text;
  }
  AllTime nowhere("/proc/none/totals.json"), memory("");
  nowhere.note(sample(1000, 5));
  memory.note(sample(1000, 5));
  EXPECT_EQ(output(nowhere) + output(memory), 0);
}

TEST_F(AllTimeTest, WhatIsWrongWithTheFileIsSaidOnce) {
  std::vector<std::string> said;
  const auto tell = [&](const std::string& what) { said.push_back(what); };
  { AllTime none(file(), tell); }
  EXPECT_TRUE(said.empty()) << "there is no file yet";
  fs::create_directories(fs::path(file()).parent_path());
  std::ofstream(file()) << "[1";
  { AllTime damaged(file(), tell); }
  ASSERT_EQ(said.size(), 1u);
  EXPECT_NE(said[0].find("totals begin with nothing"), std::string::npos) << said[0];
  said.clear();
  {
    AllTime nowhere("/proc/none/totals.json", tell);
    for (int i = 1; i < 4; ++i) nowhere.note(sample(1000 * i, 5 + i));
  }
  ASSERT_EQ(said.size(), 1u);
  EXPECT_NE(said[0].find("totals are not kept: /proc/none/totals.json"), std::string::npos) << said[0];
}

}  // namespace
}  // namespace paceline
