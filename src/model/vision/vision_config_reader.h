#pragma once

#include <optional>
#include <string_view>

#include "base/result.h"
#include "media/video.h"
#include "model/vision/vision_config.h"

namespace paceline {

// None: the model has no vision side.
Result<std::optional<VisionConfig>> read_vision_config(std::string_view config_json);

// The budget of soft tokens that processor_config.json (or preprocessor_config.json) names; kDefaultBudget where it is
// empty or names none.
Result<int32_t> read_picture_budget(std::string_view processor_config_json);

// What it says of clips, under "video_processor"; none: nothing. video_preprocessor_config.json says the same at its
// top.
Result<std::optional<ClipBudget>> read_nested_clip_budget(std::string_view processor_config_json);
Result<ClipBudget> read_clip_budget(std::string_view video_preprocessor_config_json);

}  // namespace paceline
