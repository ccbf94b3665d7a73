// What is shown to a model beside text: a picture, or frames of a clip.
#pragma once

#include <memory>
#include <variant>

#include "media/patches.h"
#include "media/video.h"

namespace paceline {

using Medium = std::variant<std::shared_ptr<const Patches>, std::shared_ptr<const Clip>>;

inline bool is_clip(const Medium& medium) { return std::holds_alternative<std::shared_ptr<const Clip>>(medium); }

}  // namespace paceline
