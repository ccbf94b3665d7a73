// What a build without CUDA says of it.
#include "kernels/cuda_device.h"

namespace paceline::kernels {

Result<CudaDevice> find_cuda_device() {
  return Error{"this program was built without CUDA: configure with -DPACELINE_CUDA=ON"};
}

std::optional<size_t> used_cuda_bytes() { return std::nullopt; }

Result<std::unique_ptr<Ops>> make_cuda_ops() { return find_cuda_device().error(); }

}  // namespace paceline::kernels
