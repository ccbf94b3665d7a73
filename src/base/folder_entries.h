// What lies in a folder.
#pragma once

#include <filesystem>
#include <vector>

namespace paceline {

// Its entries' paths, in the order of their names; none where it cannot be read. Throws where memory ends, of which the
// standard library's own iterator makes the end of the process.
std::vector<std::filesystem::path> folder_entries(const std::filesystem::path& folder);

}  // namespace paceline
