#include "model/weight_formats.h"

#include <fmt/format.h>

namespace paceline {

Status check_weight_formats(std::span<const Matrix* const> matrices, const kernels::Limits& limits) {
  for (const Matrix* matrix : matrices) {
    const bool read = (limits.unread & kernels::Limits::format_bit(matrix->format)) == 0;
    const bool plain = (limits.factors || matrix->factors == nullptr) && (limits.columns || matrix->columns == nullptr);
    if (read && plain) continue;
    return Error{fmt::format("the model has weights in {}; this backend does not read those yet (--device cpu does)",
                             weight_format_name(matrix->format))};
  }
  return Done{};
}

}  // namespace paceline
