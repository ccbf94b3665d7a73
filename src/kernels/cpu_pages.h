// Where a head's keys and values lie in a page on the processor.
#pragma once

#include <cstdint>

#include "kernels/ops.h"

namespace paceline::kernels {

inline int64_t head_offset(const HeadShape& shape, int32_t kv_head) {
  return static_cast<int64_t>(kv_head) * kPageTokens * shape.head_dim *
         static_cast<int64_t>(dtype_bytes(shape.kv_dtype));
}

}  // namespace paceline::kernels
