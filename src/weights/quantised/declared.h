// What a checkpoint says of its quantisation: quantization_config of config.json (or `quantization`, MLX's name, or
// `compression_config`, an old one), or the file hf_quant_config.json. It says which method wrote the tensors; which
// modules are quantised, and how, is seen from the tensors themselves, so that no pattern of a stranger's is ever run.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "weights/checkpoint.h"
#include "weights/json_fields.h"

namespace paceline {

enum class QuantMethod : uint8_t { none, mlx, compressed_tensors, modelopt, gptq, awq, bitsandbytes };

struct DeclaredQuantization {
  QuantMethod method = QuantMethod::none;
  int32_t bits = 0, group = 0;  // of most modules; 0: not said
  std::string format;           // for people: "compressed-tensors nvfp4-pack-quantized"
  bool activations = false;     // activations or keys and values are meant to be rounded, too, which is not done
  bool zeros_less_one = false;  // gptq: zero points are stored one too small
  bool symmetric = false;       // gptq: they are the middle, whatever is stored
};

// An error names what is not read, and what would be.
Result<DeclaredQuantization> read_quantization(const JsonFields& top);
Result<DeclaredQuantization> declared_quantization(const Checkpoint& checkpoint);

}  // namespace paceline
