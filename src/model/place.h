// Weights as a backend reads them best; see kernels::Ops::place.
#pragma once

#include <functional>
#include <memory>

#include "kernels/ops.h"
#include "model/mtp_weights.h"
#include "model/weights.h"

namespace paceline {

// progress: layers done and in all, the head counting as one. The same weights where nothing had to be done, or they
// were placed already.
using PlaceProgress = std::function<void(size_t, size_t)>;
std::shared_ptr<const TextWeights> place_weights(std::shared_ptr<const TextWeights> weights, kernels::Ops& ops,
                                                 const PlaceProgress& progress = {});
std::shared_ptr<const MtpWeights> place_weights(std::shared_ptr<const MtpWeights> weights, kernels::Ops& ops);

}  // namespace paceline
