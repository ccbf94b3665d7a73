// GGUF's numbers for tensor types: those that are read, and the names of those that are not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tensor/dtype.h"
#include "tensor/matrix.h"

namespace paceline {

// How a tensor's bytes lie: elements of a dtype, or blocks.
struct GgufType {
  DType dtype = DType::u8;
  WeightFormat blocks = WeightFormat::none;

  [[nodiscard]] bool in_blocks() const { return blocks != WeightFormat::none; }
  // Elements that lie together, and their bytes.
  [[nodiscard]] BlockShape shape() const {
    if (in_blocks()) return block_shape(blocks);
    return {1, static_cast<int32_t>(dtype_bytes(dtype)), 1};
  }
};

// None: it is not read.
std::optional<GgufType> gguf_type(uint32_t number);
// The number of a type that is read.
uint32_t gguf_type_number(GgufType type);
// "IQ3_XXS", or "77" where there is no such type.
std::string gguf_type_name(uint32_t number);

}  // namespace paceline
