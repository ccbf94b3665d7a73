#include "session/model_path.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <cstdlib>
#include <vector>

#include "weights/hub_cache.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;

// A folder's own and those around it where a model may lie. Installed: beside the folder of the program or the library,
// which may have one of the machine's kind in between. Built: in the source tree that the build folder lies in.
void add_places(const fs::path& folder, std::vector<fs::path>& places) {
  for (fs::path up = folder; up.has_relative_path(); up = up.parent_path()) {
    places.push_back(up / "share" / "paceline" / "models" / "default");
    places.push_back(up / "models" / "default");
  }
}

// The shared library that this code is in; "": it is part of the program, whose name there is whatever it was called
// by.
fs::path own_library() {
  Dl_info found{};
  link_map* map = nullptr;
  const auto* here = reinterpret_cast<const void*>(&own_library);
  if (::dladdr1(here, &found, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0 || map == nullptr) return {};
  std::error_code error;
  return map->l_name[0] == '/' ? fs::weakly_canonical(map->l_name, error) : fs::path();
}

}  // namespace

Result<fs::path> find_shipped_model() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  std::vector<fs::path> places;
  if (const fs::path library = own_library(); !library.empty()) add_places(library.parent_path(), places);
  add_places(program.parent_path(), places);
  for (const fs::path& place : places) {
    if (fs::exists(place / "config.json", error)) return place;
  }
  const fs::path prefix = program.parent_path().parent_path();
  return Error{fmt::format("no model given (-m; to the library: model), and none found beside the program in {}",
                           (prefix / "share" / "paceline" / "models" / "default").string())};
}

Result<fs::path> find_model(const std::string& asked) {
  std::string wanted = asked;
  if (const char* given = std::getenv("PACELINE_MODEL"); wanted.empty() && given != nullptr) wanted = given;
  if (wanted.empty()) return find_shipped_model();
  return resolve_model(wanted, HubCaches::from_environment());
}

std::string model_name(const std::string& asked, const fs::path& folder) {
  std::error_code failed;
  if (!asked.empty() && !fs::exists(asked, failed)) return asked;
  const fs::path whole = fs::weakly_canonical(folder, failed);
  return (whole.has_filename() ? whole.filename() : whole.parent_path().filename()).string();
}

}  // namespace paceline
