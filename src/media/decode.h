// The bytes of a picture file → pixels. The format is told by the first bytes, never by a name.
#pragma once

#include "media/formats.h"

namespace paceline {

// "" where it is none that we know.
const char* picture_format(FileBytes file);

Result<Picture> decode_picture(FileBytes file, const PictureLimits& limits = {});

}  // namespace paceline
