// The card's own ceilings, which shares are of.
#pragma once

#include <cuda_runtime.h>

namespace paceline::gpu {

struct Ceilings {
  double bytes_per_ms = 0, operations_per_ms = 0;
};

// Measured and reported. Operations stay 0 without cuBLAS.
Ceilings measure_ceilings(cudaStream_t stream);

}  // namespace paceline::gpu
