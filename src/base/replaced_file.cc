#include "base/replaced_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace paceline {

namespace fs = std::filesystem;

fs::path behind_links(fs::path path) {
  // As many as the system follows.
  constexpr int kMostLinks = 40;
  std::error_code error;
  for (int i = 0; i < kMostLinks && fs::is_symlink(path, error); ++i) {
    const fs::path target = fs::read_symlink(path, error);
    if (error) break;
    path = path.parent_path() / target;
  }
  return path;
}

Status replace_file(const std::string& named, std::string_view text) {
  const std::string path = behind_links(named).string();
  std::error_code error;
  const fs::file_status before = fs::status(path, error);
  if (fs::exists(before) && !fs::is_regular_file(before)) return Error{fmt::format("{}: not a file", named)};
  fs::create_directories(fs::path(path).parent_path(), error);
  const std::string part = fmt::format("{}.{}", path, ::getpid());
  errno = 0;
  std::ofstream file(part, std::ios::binary);
  if (file && fs::exists(before)) fs::permissions(part, before.permissions(), error);
  file << text;
  file.close();
  if (file) {
    fs::rename(part, path, error);
    if (!error) return Done{};
  }
  // Nobody would look for half a file, nor take it away.
  const std::string why = error ? error.message() : errno != 0 ? std::generic_category().message(errno) : "failed";
  fs::remove(part, error);
  return Error{fmt::format("{}: cannot be written: {}", path, why)};
}

}  // namespace paceline
