#include "base/replaced_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace paceline {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ifstream stream(path);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST(ReplacedFile, IsThereWholeAndNothingBesideIt) {
  const fs::path folder = fs::temp_directory_path() / ("replaced_" + std::to_string(::getpid()));
  const fs::path path = folder / "below" / "file";
  for (const std::string text : {"first and long", "second"}) {
    ASSERT_TRUE(replace_file(path.string(), text).ok());
    EXPECT_EQ(text_of(path), text);
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(path.parent_path()), fs::directory_iterator()), 1);
  // A folder is in its place: what was half done goes, too.
  EXPECT_FALSE(replace_file(path.parent_path().string(), "x").ok());
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
  EXPECT_FALSE(replace_file("/proc/none/file", "x").ok());
  fs::remove_all(folder);
}

TEST(ReplacedFile, KeepsWhoMayReadItAndItsLinks) {
  const fs::path folder = fs::temp_directory_path() / ("replaced_kinds_" + std::to_string(::getpid()));
  fs::create_directories(folder);
  const fs::path file = folder / "file", link = folder / "link", dangling = folder / "dangling", pipe = folder / "pipe";
  ASSERT_TRUE(replace_file(file, "one").ok());
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("file", link);
  ASSERT_TRUE(replace_file(link, "two").ok());
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(text_of(file), "two");
  EXPECT_EQ(fs::status(file).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("later", dangling);
  ASSERT_TRUE(replace_file(dangling, "three").ok());
  EXPECT_EQ(text_of(folder / "later"), "three");
  // As many as the system follows.
  for (int i = 0; i < 40; ++i)
    fs::create_symlink(i == 0 ? "file" : "link" + std::to_string(i - 1), folder / ("link" + std::to_string(i)));
  ASSERT_TRUE(replace_file(folder / "link39", "five").ok());
  EXPECT_EQ(text_of(file), "five");
  EXPECT_TRUE(fs::is_symlink(folder / "link20"));
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_FALSE(replace_file(pipe, "four").ok());
  EXPECT_TRUE(fs::is_fifo(pipe));
  fs::remove_all(folder);
}

}  // namespace
}  // namespace paceline
