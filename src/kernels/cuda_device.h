// A CUDA device as Ops. A build without CUDA links cuda_stub.cc, where there is none.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "kernels/ops.h"

namespace paceline::kernels {

struct CudaDevice {
  std::string name;
  int major = 0, minor = 0;  // compute capability
  int multiprocessors = 0;
  size_t memory_bytes = 0, free_bytes = 0;
  int driver = 0, runtime = 0;  // versions, as 1000 * major + 10 * minor
};

// The first device, if it can be used: the error says what is missing (a build with CUDA, a driver, a device, a new
// enough one).
Result<CudaDevice> find_cuda_device();
// Of its memory, what all programs together use; cheaper than to look for the device. None: it does not say.
std::optional<size_t> used_cuda_bytes();
Result<std::unique_ptr<Ops>> make_cuda_ops();

}  // namespace paceline::kernels
