// Launching kernels, with what an early start needs. Errors stay in the runtime until the stream is waited for.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace paceline::kernels::cuda {

// Above 48 KiB a kernel has to be allowed its shared memory, once per device.
template <class Kernel>
void allow_shared(Kernel kernel, size_t bytes) {
  if (bytes > 32 * 1024)
    (void)cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
}

template <class Kernel, class... Args>
void launch(Kernel kernel, dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream, bool early,
            const Args&... args) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  config.attrs = &attribute;
  config.numAttrs = early ? 1 : 0;
  (void)cudaLaunchKernelEx(&config, kernel, args...);
}

}  // namespace paceline::kernels::cuda
