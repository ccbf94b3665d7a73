#include "model/weight_formats.h"

#include <fmt/format.h>

namespace paceline {

Status check_weight_formats(std::span<const Matrix* const> matrices, const kernels::Limits& limits) {
  for (const Matrix* matrix : matrices) {
    const WeightFormat format = matrix->format;
    const bool gguf = in_blocks(format) && format != WeightFormat::nvfp4_split;
    const bool read = (limits.unread & kernels::Limits::format_bit(format)) == 0 &&
                      (limits.scaled_f8 || format != WeightFormat::f8 || matrix->group == 0) &&
                      (limits.block_factors || !gguf || matrix->factors == nullptr) &&
                      (limits.columns || matrix->columns == nullptr);
    if (read) continue;
    return Error{fmt::format("the model has weights in {}; this backend does not read those yet (--device cpu does)",
                             weight_format_name(matrix->format))};
  }
  return Done{};
}

}  // namespace paceline
