// Whether a backend's kernels take a vision side of this shape.
#pragma once

#include "base/result.h"
#include "kernels/ops.h"
#include "model/vision/vision_config.h"

namespace paceline {

Status check_limits(const VisionConfig& config, const kernels::Limits& limits);

}  // namespace paceline
