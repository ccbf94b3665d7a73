#include "base/replaced_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <system_error>

namespace paceline {

namespace fs = std::filesystem;

Status replace_file(const std::string& path, std::string_view text) {
  std::error_code error;
  fs::create_directories(fs::path(path).parent_path(), error);
  const std::string part = fmt::format("{}.{}", path, ::getpid());
  std::ofstream file(part, std::ios::binary);
  file << text;
  file.close();
  if (file) {
    fs::rename(part, path, error);
    if (!error) return Done{};
  }
  // Nobody would look for half a file, nor take it away.
  const std::string why = error ? error.message() : "cannot be written";
  fs::remove(part, error);
  return Error{fmt::format("{}: {}", path, why)};
}

}  // namespace paceline
