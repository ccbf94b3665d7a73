// SHA-256 of weights files, as 64 lower-case hex digits.
#pragma once

#include <cstddef>
#include <span>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "weights/mapped_file.h"

namespace paceline {

Result<std::string> sha256_hex(std::span<const std::byte> bytes);

// Of the files' bytes one after the other: `cat` of the shards in their order. An error where it was told to stop.
Result<std::string> sha256_hex(std::span<const MappedFile> files, const std::stop_token& stop = {});

}  // namespace paceline
