// Which type each tensor of a file gets: what a file's name promises (Q4_K_M), and what the format can do with a row.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "weights/gguf/gguf_types.h"

namespace paceline {

struct GgufRecipe {
  std::string name;
  uint32_t file_type = 0;  // general.file_type
  WeightFormat usual = WeightFormat::q8_0;
  WeightFormat embedding = WeightFormat::q8_0;
  WeightFormat finer = WeightFormat::q8_0;  // of values and of the way down, in some layers

  // Q8_0, Q4_0 or Q4_K_M; BF16, where nothing is packed.
  static Result<GgufRecipe> named(std::string_view name);
  // The tensor by its name in GGUF. dtype: of the source, for what is not packed.
  [[nodiscard]] GgufType type_of(std::string_view tensor, const std::vector<int64_t>& shape, DType dtype,
                                 int64_t layers) const;
};

}  // namespace paceline
