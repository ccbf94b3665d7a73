// Launching kernels, with what an early start needs. Errors stay in the runtime until the stream is waited for.
#pragma once

#include <cstddef>

#include "kernels/cuda/launches.h"

namespace paceline::kernels::cuda {

template <class... Params, class... Args>
void launch(void (*kernel)(Params...), dim3 grid, dim3 block, size_t shared_bytes, Stream stream, bool early,
            const Args&... args) {
  stream->kernel(kernel, {grid, block, shared_bytes, early}, static_cast<Params>(args)...);
}

}  // namespace paceline::kernels::cuda
