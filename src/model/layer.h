// One layer of a stack, whatever it does between rows in and rows out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/ops.h"
#include "model/forward.h"

namespace paceline {

// The rows of one call on their way through the layers.
struct LayerRows {
  int32_t rows = 0;
  float* x = nullptr;                 // [rows, hidden]: the residual stream; a layer changes it in place
  std::span<const SeqRows> seqs;      // whose rows they are
  std::span<kernels::SeqSpan> spans;  // the same, and where they stand; pages are those of the layer that runs
  const int32_t* last_pos = nullptr;  // [rows], or none: every row sees up to itself
  size_t extra_bytes = 0;             // counted up: of weights read beyond what one row reads
};

class Layer {
 public:
  Layer() = default;
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;
  virtual ~Layer() = default;

  // Enqueues all that the layer does.
  virtual void run(LayerRows& rows) = 0;
};

using LayerStack = std::vector<std::unique_ptr<Layer>>;

}  // namespace paceline
