// How fast this machine's threads read memory: the bound of every narrow kernel.
#pragma once

#include <cstdint>
#include <vector>

#include "base/thread_pool.h"

namespace paceline::kernels {

class ReadBandwidth {
 public:
  // bytes: several times the last cache.
  explicit ReadBandwidth(size_t bytes = size_t{512} << 20) : words_(bytes / sizeof(uint64_t), 1) {}

  // Reads all of it once; gigabytes (1e9) per second.
  double measure(ThreadPool& pool);

 private:
  std::vector<uint64_t> words_;
};

}  // namespace paceline::kernels
