// Weights as a backend reads them best; see kernels::Ops::place.
#pragma once

#include <memory>

#include "kernels/ops.h"
#include "model/gemma4/mtp_weights.h"
#include "model/gemma4/weights.h"

namespace paceline {

// The same weights where nothing had to be done, or they were placed already.
std::shared_ptr<const Gemma4Weights> place_weights(std::shared_ptr<const Gemma4Weights> weights, kernels::Ops& ops,
                                                   const PlaceProgress& progress = {});
std::shared_ptr<const MtpWeights> place_weights(std::shared_ptr<const MtpWeights> weights, kernels::Ops& ops);

}  // namespace paceline
