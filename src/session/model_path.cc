#include "session/model_path.h"

#include <fmt/format.h>

#include <cstdlib>
#include <vector>

#include "weights/hub_cache.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;

// Installed: beside the program's folder. Built: the source tree that the build folder lies in.
Result<fs::path> find_shipped_model() {
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  std::vector<fs::path> places{folder.parent_path() / "share" / "paceline" / "models" / "default"};
  for (fs::path up = folder; up.has_relative_path(); up = up.parent_path()) places.push_back(up / "models" / "default");
  for (const fs::path& place : places) {
    if (fs::exists(place / "config.json", error)) return place;
  }
  return Error{fmt::format("no model given (-m), and none found beside the program in {}", places.front().string())};
}

}  // namespace

Result<fs::path> find_model(const std::string& asked) {
  std::string wanted = asked;
  if (const char* given = std::getenv("PACELINE_MODEL"); wanted.empty() && given != nullptr) wanted = given;
  if (wanted.empty()) return find_shipped_model();
  return resolve_model(wanted, HubCaches::from_environment());
}

}  // namespace paceline
