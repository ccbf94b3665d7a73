// Files that may be packed with xz.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace paceline {

// More than any tokenizer.json or table of encodings; a small .xz must not unpack into all of memory.
inline constexpr size_t kMaxUnpackedBytes = size_t{512} << 20;

// The bytes of `path`, unpacked if they are an .xz (by what stands in the file, not by its name).
Result<std::string> read_packed_file(const std::string& path, size_t max_bytes = kMaxUnpackedBytes);

Result<std::string> unpack_xz(std::string_view packed, size_t max_bytes);

}  // namespace paceline
