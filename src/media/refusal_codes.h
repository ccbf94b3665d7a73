// Why a file is not taken, as words for programs: an Error's code, which clients of the server are told.
#pragma once

#include <string_view>

#include "base/refused_memory.h"
#include "base/result.h"

namespace paceline {

inline constexpr const char* kUnknownFormat = "media_unknown_format";  // or a codec, or a layout of pixels
inline constexpr const char* kBroken = "media_broken";
inline constexpr const char* kTooLarge = "media_too_large";  // in bytes, pixels, or what decoding would take
inline constexpr const char* kTooLong = "media_too_long";
inline constexpr const char* kTooSlow = "media_too_slow";  // to decode
inline constexpr const char* kNotBuilt = "media_not_built";

// No fault of the file's.
inline Error no_memory() { return {"not enough memory", kNoMemory}; }

// Of what a decoder has no word for: the file is not what it says, or there was no memory to read it.
inline Error with_media_code(Error error, const RefusedMemory& memory) {
  const std::string_view code = error.code;
  if (memory.found() && (code.empty() || code == kBroken || code == kUnknownFormat)) return no_memory();
  if (code.empty()) error.code = kBroken;
  return error;
}

}  // namespace paceline
