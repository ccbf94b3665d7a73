// The bytes of a picture file → pixels. The format is told by the first bytes, never by a name.
#pragma once

#include "media/formats.h"

namespace paceline {

// "" where it is none that we know.
const char* picture_format(FileBytes file);

// How many pixels decoding it would take memory for, as its header says; 0 where it says nothing that can be read.
int64_t picture_pixels(FileBytes file);

Result<Picture> decode_picture(FileBytes file, const PictureLimits& limits = {});

}  // namespace paceline
