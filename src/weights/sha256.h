// SHA-256 of weights files, as 64 lower-case hex digits.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/result.h"
#include "weights/mapped_file.h"

namespace paceline {

Result<std::string> sha256_hex(std::span<const std::byte> bytes);

// Of the files' bytes one after the other: `cat` of the shards in their order.
Result<std::string> sha256_hex(std::span<const MappedFile> files);

}  // namespace paceline
