#include "base/control_groups.h"

#include <fstream>

namespace paceline {
namespace {

// A group's path below where its tree is mounted. In a container the path may be the host's, of which nothing is to be
// seen but the end of the way: the container's own group is mounted at the root.
void add_with_parents(const std::string& mount, std::string path, std::vector<std::filesystem::path>& found) {
  if (path == "/") path.clear();
  for (;;) {
    found.emplace_back(mount + path);
    const size_t slash = path.rfind('/');
    if (slash == std::string::npos) return;
    path.resize(slash);
  }
}

}  // namespace

std::vector<std::filesystem::path> control_groups(std::string_view controller, const std::string& groups,
                                                  const std::string& mount) {
  const std::string wanted = "," + std::string(controller) + ",";
  // NUMBER:CONTROLLERS:PATH; in the second version's line there are no controllers.
  std::ifstream file(groups);
  std::vector<std::filesystem::path> found;
  for (std::string line; std::getline(file, line);) {
    const size_t begin = line.find(':'), end = begin == std::string::npos ? begin : line.find(':', begin + 1);
    if (end == std::string::npos) continue;
    const std::string controllers = "," + line.substr(begin + 1, end - begin - 1) + ",", path = line.substr(end + 1);
    if (controllers == ",,") {
      // Beside the first version's it is mounted in a folder of its own.
      add_with_parents(mount, path, found);
      add_with_parents(mount + "/unified", path, found);
    } else if (controllers.find(wanted) != std::string::npos) {
      add_with_parents(mount + "/" + std::string(controller), path, found);
    }
  }
  return found;
}

}  // namespace paceline
