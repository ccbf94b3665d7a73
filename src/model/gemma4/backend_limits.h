// Whether a backend's kernels take a model of this shape: asked when a model is loaded, so that a file that asks too
// much is refused in words.
#pragma once

#include "base/result.h"
#include "kernels/ops.h"
#include "model/gemma4/mtp_weights.h"
#include "model/gemma4/weights.h"

namespace paceline {

Status check_limits(const Gemma4Weights& weights, const kernels::Limits& limits);
Status check_limits(const MtpWeights& weights, const kernels::Limits& limits);

}  // namespace paceline
