// Quantised matrices of safetensors in the formats that the kernels have: each format that is read is one reader here,
// in a file of its own.
#pragma once

#include "weights/quantised/module.h"

namespace paceline {

struct QuantisedFormat {
  // Whether a module's tensors are of this format, right or wrong.
  bool (*fits)(const QuantisedModule& module);
  Status (*read)(QuantisedModule& module, Matrix* out);
};

std::span<const QuantisedFormat> quantised_formats();

// What a module may be called by: its weight, whatever form that has.
inline constexpr std::string_view kWeightParts[] = {".weight", ".weight_packed", ".qweight"};

// Tensors that belong to rounding activations, or keys and values, which is not done.
bool is_activation_scale(std::string_view name);

extern const QuantisedFormat kNvfp4Format, kFp8Format, kPackedIntegersFormat, kGptqFormat, kAwqFormat,
    kBitsandbytesFormat;

}  // namespace paceline
