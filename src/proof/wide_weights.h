// A model's matrices in float32. Quantised ones take activations rounded to 8 bits, where the smallest difference turns
// some of the roundings: whoever asks what something else costs wants them out of the way.
#pragma once

#include <memory>

#include "kernels/cpu_table.h"
#include "model/gemma4/weights.h"

namespace paceline {

// Of a model without experts.
std::shared_ptr<Gemma4Weights> in_float32(const Gemma4Weights& weights, const kernels::CpuTable& table);

}  // namespace paceline
