// Memory of a backend that grows to what calls need. What it held is gone when it grows.
#pragma once

#include "kernels/ops.h"

namespace paceline::kernels {

class RowBuffer {
 public:
  float* sized(Ops& ops, int64_t floats) {
    if (floats_ < floats) {
      memory_.reset();
      floats_ = 0;
      memory_ = ops.memory(static_cast<size_t>(floats) * sizeof(float));
      floats_ = memory_ == nullptr ? 0 : floats;
    }
    return data();
  }
  [[nodiscard]] float* data() const { return static_cast<float*>(memory_.get()); }

 private:
  std::shared_ptr<void> memory_;
  int64_t floats_ = 0;
};

}  // namespace paceline::kernels
