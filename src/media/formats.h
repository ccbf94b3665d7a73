// One decoder per file format. Bytes are hostile: sizes are checked against the limits before memory for pixels is
// taken, and an error says what was expected and what was found.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "media/picture.h"

namespace paceline {

using FileBytes = std::span<const uint8_t>;

Result<Picture> decode_jpeg(FileBytes file, const PictureLimits& limits);  // turned upright as its EXIF says
Result<Picture> decode_png(FileBytes file, const PictureLimits& limits);
Result<Picture> decode_webp(FileBytes file, const PictureLimits& limits);  // the first frame
Result<Picture> decode_gif(FileBytes file, const PictureLimits& limits);   // the first frame
Result<Picture> decode_bmp(FileBytes file, const PictureLimits& limits);

}  // namespace paceline
