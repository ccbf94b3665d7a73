// Whether a backend takes a model's numbers, and reads the formats that its matrices have.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "kernels/ops.h"
#include "tensor/matrix.h"

namespace paceline {

// An error names both numbers, and what there are too many of.
Status check_at_most(const char* what, int32_t found, int32_t most);
// An error names the first format that it does not.
Status check_weight_formats(std::span<const Matrix* const> matrices, const kernels::Limits& limits);
// Whether it takes experts of which gate and up are as they are in this layer.
Status check_gates(const Matrix& gate, const Matrix& up, size_t layer, const kernels::Limits& limits);

}  // namespace paceline
