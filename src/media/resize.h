// Bicubic resizing with antialiasing on 8-bit values, bit for bit as PyTorch does it: weights as integers of 16 bits,
// first along rows, then along columns, each rounded to eight bits.
#pragma once

#include "media/picture.h"

namespace paceline {

Picture resized(const Picture& picture, int32_t width, int32_t height);

}  // namespace paceline
