// What becomes of each tensor when a checkpoint is quantised.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "weights/checkpoint.h"
#include "weights/quantizer.h"
#include "weights/safetensors/safetensors_writer.h"

namespace paceline {

// Some rows of a source tensor, seen as [blocks * stride_rows, cols], become one tensor of the output: the rows
// [first_row, first_row + block_rows) of every block. Blocks are experts.
struct QuantizeStep {
  const TensorView* source = nullptr;
  bool quantise = false;  // else the tensor is copied whole
  QuantSpec spec;
  int64_t blocks = 1;
  int64_t first_row = 0;
  int64_t block_rows = 0;
  int64_t stride_rows = 0;
  size_t output = 0;  // in QuantizePlan::outputs: the copy; or the packed weights, with scales and biases after it
};

struct QuantizePlan {
  std::vector<TensorPlan> outputs;
  std::vector<QuantizeStep> steps;
  std::map<std::string, QuantSpec> overrides;  // by MLX's module name
};

QuantizePlan plan_quantization(const Checkpoint& checkpoint, QuantSpec spec);

}  // namespace paceline
