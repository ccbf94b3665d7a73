// Tiles of rows that the device's copy engine brings into shared memory as the tensor cores take them: 64 columns of
// some rows, 128 bytes each, whose 16-byte chunks are exchanged by row number. One thread asks for a whole tile.
#pragma once

#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <optional>

#include "kernels/cuda/layout.h"

namespace paceline::kernels::cuda {

// What the engine has to know of x [rows, stride], bf16, to bring tiles of so many rows. Rows and columns that are not
// there are zeros in a tile. None: the driver does not make such maps.
inline std::optional<CUtensorMap> row_tiles(const Rows& x, int32_t rows, int32_t tile_rows) {
  static const auto encode = [] {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result{};
#if CUDART_VERSION >= 12050
    const auto asked =
        cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &result);
#else
    const auto asked = cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &found, cudaEnableDefault, &result);
#endif
    if (asked != cudaSuccess || result != cudaDriverEntryPointSuccess) found = nullptr;
    return reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(found);
  }();
  if (encode == nullptr) return std::nullopt;
  CUtensorMap map{};
  const cuuint64_t sizes[2] = {static_cast<cuuint64_t>(x.stride), static_cast<cuuint64_t>(rows)};
  const cuuint64_t row_bytes = sizes[0] * 2;
  const cuuint32_t tile[2] = {kBlockK, static_cast<cuuint32_t>(tile_rows)}, steps[2] = {1, 1};
  if (encode(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, const_cast<void*>(x.values), sizes, &row_bytes, tile, steps,
             CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
             CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS)
    return std::nullopt;
  return map;
}

#if __CUDA_ARCH__ >= 900
// The tile of this column and row; `to` is a multiple of 1,024.
__device__ __forceinline__ void copy_tile(uint32_t to, const CUtensorMap& map, int32_t col, int32_t row,
                                          uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::
          "r"(to),
      "l"(&map), "r"(col), "r"(row), "r"(barrier)
      : "memory");
}
#endif

}  // namespace paceline::kernels::cuda
