// A decoded picture: 8-bit RGB, upright, without transparency.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.h"

namespace paceline {

struct Picture {
  int32_t width = 0, height = 0;
  std::vector<uint8_t> rgb;  // [height, width, 3]
};

// Sizes are checked from a file's header, before memory for pixels is taken; the time while decoding.
struct PictureLimits {
  size_t bytes = size_t{64} << 20;     // of the file
  int64_t pixels = int64_t{64} << 20;  // decoding takes up to kDecodingBytes for each
  int32_t side = 32768;                // the longer one
  std::chrono::milliseconds time{20000};
  const std::function<bool()>* stops = nullptr;  // asked while decoding: nobody wants it any more
  int64_t* found = nullptr;                      // is told how many pixels the file has, also where these are too many
};
inline constexpr int64_t kDecodingBytes = 10;

// An error names the size found and the limit.
Status check_size(int64_t width, int64_t height, const PictureLimits& limits);

// A colour value seen through `alpha` of 255, white behind it; rounded to nearest.
constexpr uint8_t over_white(uint32_t value, uint32_t alpha) {
  return static_cast<uint8_t>((value * alpha + 255 * (255 - alpha) + 127) / 255);
}

// rgba [count, 4] to rgb [count, 3], white behind it. May work in place.
void flatten_over_white(const uint8_t* rgba, size_t count, uint8_t* rgb);

}  // namespace paceline
