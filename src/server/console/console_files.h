// The web console's files as they lie in the program. Made by tools/pack_console.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace paceline {

struct ConsoleFile {
  std::string_view path, type;
  std::string_view digest;                // SHA-256 of what it holds
  std::span<const unsigned char> packed;  // as gzip
  size_t bytes;                           // unpacked
};

std::span<const ConsoleFile> console_files();
// Of all of them together: the folder that pages ask for them below.
std::string_view console_digest();

}  // namespace paceline
