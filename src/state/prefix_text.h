// What a text is known by, for whoever keeps its beginning.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "tensor/dtype.h"

namespace paceline {

// 16 bytes of a digest: what two things share only if they are the same.
using Fingerprint = std::array<uint64_t, 2>;

// A picture, or a frame of a clip, among the tokens.
struct PrefixPicture {
  int32_t first_pos = 0;
  int32_t count = 0;  // of tokens
  Fingerprint content{};
  auto operator<=>(const PrefixPicture&) const = default;
};

struct PrefixText {
  std::span<const TokenId> prompt;
  std::vector<PrefixPicture> pictures;  // ascending
  Fingerprint scope{};                  // texts of other scopes are strangers
};

}  // namespace paceline
