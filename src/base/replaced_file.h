// A file that is there whole or not at all: the old one stays until the new one is written, whoever writes beside.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace paceline {

// Makes the folders above it, where they are not there. Through a link it is the file that the link names; who may read
// a file that is there may read the new one. What is there and no file is refused.
Status replace_file(const std::string& path, std::string_view text);

// What a link stands for, even if that is not there.
std::filesystem::path behind_links(std::filesystem::path path);

}  // namespace paceline
