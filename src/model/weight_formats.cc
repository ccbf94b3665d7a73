#include "model/weight_formats.h"

#include <fmt/format.h>

namespace paceline {

Status check_weight_formats(std::span<const Matrix* const> matrices, const kernels::Limits& limits) {
  for (const Matrix* matrix : matrices) {
    const bool plain = matrix->format <= WeightFormat::q4 && matrix->factors == nullptr && matrix->columns == nullptr;
    if (limits.blocks || plain) continue;
    return Error{fmt::format("the model has weights in {}; this backend does not read those yet (--device cpu does)",
                             weight_format_name(matrix->format))};
  }
  return Done{};
}

}  // namespace paceline
