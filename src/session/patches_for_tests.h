// What tests of prompts with pictures and clips start from.
#pragma once

#include <filesystem>
#include <memory>

#include "media/patches.h"

namespace paceline {

inline std::filesystem::path source() { return PACELINE_SOURCE_DIR; }

// Patches that become so many soft tokens, without pixels.
inline std::shared_ptr<const Patches> patches_with(int32_t tokens) {
  return std::make_shared<const Patches>(Patches{16, 3 * tokens, 3, {}, tokens});
}

}  // namespace paceline
