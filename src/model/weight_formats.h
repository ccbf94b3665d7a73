// Whether a backend reads the formats that a model's matrices have.
#pragma once

#include <span>

#include "base/result.h"
#include "kernels/ops.h"
#include "tensor/matrix.h"

namespace paceline {

// An error names the first format that it does not.
Status check_weight_formats(std::span<const Matrix* const> matrices, const kernels::Limits& limits);
// Whether it takes experts of which gate and up are as they are in this layer.
Status check_gates(const Matrix& gate, const Matrix& up, size_t layer, const kernels::Limits& limits);

}  // namespace paceline
