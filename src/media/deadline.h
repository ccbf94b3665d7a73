// How long decoding may take, looked at between rows, frames or packets.
#pragma once

#include "base/deadline.h"
#include "media/refusal_codes.h"

namespace paceline {

inline constexpr const char* kLateMessage = "decoding took longer than it may";

inline Error too_late() { return {kLateMessage, kTooSlow}; }

}  // namespace paceline
