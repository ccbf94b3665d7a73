// How a camera was held, as EXIF tells it, and turning a picture upright accordingly.
#pragma once

#include "media/formats.h"
#include "media/picture.h"

namespace paceline {

// 1 to 8, from the contents of a JPEG's APP1 marker; 1 (upright) where it says nothing that makes sense.
int exif_orientation(FileBytes app1);

Picture turned_upright(Picture picture, int orientation);

}  // namespace paceline
