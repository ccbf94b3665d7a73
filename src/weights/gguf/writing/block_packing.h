// Rows of floats as GGUF's blocks: Q8_0, Q4_0, Q5_0, Q4_K, Q6_K (tensor/blocks.h reads them back). Scales are rounded
// as they will be stored before the weights are measured against them; of a few scales the one with the least squared
// error is taken.
#pragma once

#include <cstddef>
#include <span>

#include "tensor/matrix.h"

namespace paceline {

[[nodiscard]] bool can_pack_blocks(WeightFormat format);

// Finite numbers; as many as make up whole blocks. out: row_value_bytes of such a row.
void pack_blocks(WeightFormat format, std::span<const float> row, std::byte* out);

}  // namespace paceline
