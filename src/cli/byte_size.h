// Sizes as operators write them: 4096, 512MB, 8 GB.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.h"

namespace paceline {

struct SizeRange {
  size_t low = 0;
  size_t high = size_t{64} << 40;  // more memory than any machine has
};

// Units are K, M, G, T, with B or iB or without, in any case; each is 1024 of the one before. An error says what may be
// written.
Result<size_t> read_byte_size(std::string_view text, const SizeRange& range);

}  // namespace paceline
