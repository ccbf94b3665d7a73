// How long decoding may take, looked at between rows, frames or packets.
#pragma once

#include "base/deadline.h"

namespace paceline {

inline constexpr const char* kTooSlow = "decoding took longer than it may";

}  // namespace paceline
