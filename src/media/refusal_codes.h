// Why a file is not taken, as words for programs: an Error's code, which clients of the server are told.
#pragma once

#include "base/result.h"

namespace paceline {

inline constexpr const char* kUnknownFormat = "media_unknown_format";  // or a codec, or a layout of pixels
inline constexpr const char* kBroken = "media_broken";
inline constexpr const char* kTooLarge = "media_too_large";  // in bytes, pixels, or memory to decode it in
inline constexpr const char* kTooLong = "media_too_long";
inline constexpr const char* kTooSlow = "media_too_slow";  // to decode
inline constexpr const char* kNotBuilt = "media_not_built";

// Of what a decoder has no word for: the file is not what it says.
inline Error with_media_code(Error error) {
  if (*error.code == 0) error.code = kBroken;
  return error;
}

}  // namespace paceline
