#include "base/folder_entries.h"

#include <gtest/gtest.h>

#include <fstream>

namespace paceline {
namespace {

namespace fs = std::filesystem;

TEST(FolderEntries, InTheOrderOfTheirNames) {
  const fs::path folder = fs::path(testing::TempDir()) / "folder_entries";
  fs::remove_all(folder);
  fs::create_directories(folder / "b");
  for (const char* name : {"c", "a", ".hidden"}) std::ofstream(folder / name) << "x";
  EXPECT_EQ(folder_entries(folder),
            (std::vector<fs::path>{folder / ".hidden", folder / "a", folder / "b", folder / "c"}));
  EXPECT_TRUE(folder_entries(folder / "a").empty());
  EXPECT_TRUE(folder_entries(folder / "nowhere").empty());
  fs::remove_all(folder);
}

}  // namespace
}  // namespace paceline
