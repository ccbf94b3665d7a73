#include "base/folder_entries.h"

#include <dirent.h>

#include <algorithm>
#include <memory>
#include <string_view>

namespace paceline {

std::vector<std::filesystem::path> folder_entries(const std::filesystem::path& folder) {
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(folder.c_str()), &::closedir);
  std::vector<std::filesystem::path> entries;
  if (open == nullptr) return entries;
  while (const dirent* entry = ::readdir(open.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") entries.push_back(folder / name);
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

}  // namespace paceline
