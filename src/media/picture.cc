#include "media/picture.h"

#include <fmt/format.h>

#include <algorithm>

#include "media/refusal_codes.h"

namespace paceline {

Status check_size(int64_t width, int64_t height, const PictureLimits& limits) {
  if (width < 1 || height < 1)
    return Error{fmt::format("a picture of {} × {} pixels has nothing in it", width, height)};
  if (limits.found != nullptr) *limits.found = width * height;
  if (std::max(width, height) > limits.side) {
    return Error{fmt::format("the picture has {} × {} pixels; a side may have at most {}", width, height, limits.side),
                 kTooLarge};
  }
  if (width * height > limits.pixels) {
    return Error{fmt::format("the picture has {} × {} = {} pixels; at most {} are decoded", width, height,
                             width * height, limits.pixels),
                 kTooLarge};
  }
  return Done{};
}

void flatten_over_white(const uint8_t* rgba, size_t count, uint8_t* rgb) {
  for (size_t i = 0; i < count; ++i, rgba += 4, rgb += 3) {
    const uint32_t alpha = rgba[3];
    for (int c = 0; c < 3; ++c) rgb[c] = alpha == 255 ? rgba[c] : over_white(rgba[c], alpha);
  }
}

}  // namespace paceline
