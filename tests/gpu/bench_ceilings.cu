#if defined(PACELINE_CUBLAS)
#include <cublas_v2.h>
#endif

#include <cstdint>

#include "bench_ceilings.h"
#include "bench_clock.h"
#include "bench_model.h"

namespace paceline::gpu {
namespace {

__global__ void read_kernel(const uint4* from, int64_t count, uint32_t* out) {
  uint32_t sum = 0;
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; i + 3 * stride < count; i += 4 * stride) {
    uint4 v[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) v[k] = __ldcs(from + i + k * stride);
#pragma unroll
    for (int k = 0; k < 4; ++k) sum ^= v[k].x ^ v[k].y ^ v[k].z ^ v[k].w;
  }
  if (sum == 0x12345678u) *out = sum;
}

}  // namespace

Ceilings measure_ceilings(cudaStream_t stream) {
  Ceilings c;
  const size_t bytes = size_t{8} << 30;
  void* block = nullptr;
  must(cudaMalloc(&block, bytes), "memory");
  fill(block, bytes, 3, {}, stream);
  const double ms = time_ms(stream, 7, [&] {
    read_kernel<<<132 * 16, 512, 0, stream>>>(static_cast<const uint4*>(block), static_cast<int64_t>(bytes / 16),
                                              static_cast<uint32_t*>(block));
  });
  c.bytes_per_ms = static_cast<double>(bytes) / ms;
  report("card", "read bandwidth", ms, 1, "GB/s", c.bytes_per_ms / 1e6);
#if defined(PACELINE_CUBLAS)
  cublasHandle_t blas;
  if (cublasCreate(&blas) == CUBLAS_STATUS_SUCCESS) {
    (void)cublasSetStream(blas, stream);
    const int n = 8192;
    const float one = 1, zero = 0;
    auto* a = static_cast<char*>(block);
    const double product_ms = time_ms(stream, 9, [&] {
      (void)cublasGemmEx(blas, CUBLAS_OP_T, CUBLAS_OP_N, n, n, n, &one, a, CUDA_R_16BF, n, a + (size_t{1} << 30),
                         CUDA_R_16BF, n, &zero, a + (size_t{2} << 30), CUDA_R_16BF, n, CUBLAS_COMPUTE_32F,
                         CUBLAS_GEMM_DEFAULT);
    });
    c.operations_per_ms = 2.0 * n * n * n / product_ms;
    report("card", "bf16 product 8192^3 (cuBLAS)", product_ms, 1, "TFLOP/s", c.operations_per_ms / 1e9);
    (void)cublasDestroy(blas);
  }
#endif
  (void)cudaFree(block);
  return c;
}

}  // namespace paceline::gpu
