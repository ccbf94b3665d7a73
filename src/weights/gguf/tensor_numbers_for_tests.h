// All numbers of a tensor, whatever it is kept in.
#pragma once

#include <vector>

#include "tensor/blocks.h"
#include "weights/quantizer.h"

namespace paceline {

inline std::vector<float> numbers_of(const TensorView& tensor) {
  int64_t count = 1;
  for (const int64_t dimension : tensor.shape) count *= dimension;
  std::vector<float> values(static_cast<size_t>(count));
  if (in_blocks(tensor.blocks)) {
    dequantise_blocks(tensor.blocks, tensor.values, count, values.data());
  } else {
    read_weight_row({tensor.values, tensor.dtype, 1, count}, 0, values);
  }
  return values;
}

}  // namespace paceline
