#include "base/replaced_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace paceline {
namespace {

namespace fs = std::filesystem;

TEST(ReplacedFile, IsThereWholeAndNothingBesideIt) {
  const fs::path folder = fs::temp_directory_path() / ("replaced_" + std::to_string(::getpid()));
  const fs::path path = folder / "below" / "file";
  for (const std::string text : {"first and long", "second"}) {
    ASSERT_TRUE(replace_file(path.string(), text).ok());
    std::ifstream stream(path);
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(stream), {}), text);
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(path.parent_path()), fs::directory_iterator()), 1);
  // A folder is in its place: what was half done goes, too.
  EXPECT_FALSE(replace_file(path.parent_path().string(), "x").ok());
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
  EXPECT_FALSE(replace_file("/proc/none/file", "x").ok());
  fs::remove_all(folder);
}

}  // namespace
}  // namespace paceline
