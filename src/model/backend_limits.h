// Whether a backend's kernels take a model of this shape: asked when a model is loaded, so that a file that asks too
// much is refused in words.
#pragma once

#include "base/result.h"
#include "kernels/ops.h"
#include "model/mtp_weights.h"
#include "model/vision_weights.h"
#include "model/weights.h"

namespace paceline {

Status check_limits(const TextWeights& weights, const kernels::Limits& limits);
Status check_limits(const MtpWeights& weights, const kernels::Limits& limits);
Status check_limits(const VisionConfig& config, const kernels::Limits& limits);

}  // namespace paceline
