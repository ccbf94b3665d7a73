// A decoded frame of a clip, in whatever layout its codec has, as 8-bit RGB. Transparent parts let white through.
#pragma once

#include "media/picture.h"

struct AVFrame;

namespace paceline {

// The same bits on every machine: none of the shortcuts that differ from one processor to another are taken.
Result<Picture> picture_of(const AVFrame& frame, const PictureLimits& limits);

}  // namespace paceline
