#include "kernels/portable/blocks.h"

#include "kernels/portable/act.h"
#include "tensor/blocks.h"

namespace paceline::kernels::portable {
namespace {

// What a block adds to a row's sum; first_group: of the row's.
float add_block(const DecodedBlock& block, const Matrix& w, const QuantisedRows& x, int64_t row, int32_t first_group,
                float sum) {
  const int32_t group = w.group, row_groups = w.cols / group;
  const int32_t groups = block_shape(w.format).elements / group;
  const auto zero = static_cast<float>(block_zero(w.format));
  const int8_t* q = x.q + row * w.cols + first_group * group;
  for (int32_t g = 0; g < groups; ++g) {
    int32_t exact = 0;
    for (int32_t k = g * group; k < (g + 1) * group; ++k) exact += block.codes[k] * q[k];
    const int64_t at = row * row_groups + first_group + g;
    sum += block.scales[g] * x.scales[at] * static_cast<float>(exact);
    sum += (block.biases[g] - zero * block.scales[g]) * x.sums[at];
  }
  return sum;
}

}  // namespace

void matmul_blocks(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  const BlockShape shape = block_shape(w.format);
  const QuantisedRows rows = quantised_rows(x);
  DecodedBlock block;
  for (int32_t n = n_begin; n < n_end; ++n) {
    for (int32_t k = 0; k < w.cols; k += shape.elements) {
      decode_block(w, n, k / shape.elements, &block);
      for (int64_t r = 0; r < x.shape.rows; ++r) {
        float& sum = y[r * ldy + n];
        sum = add_block(block, w, rows, r, k / shape.group, k == 0 ? 0.0f : sum);
      }
    }
  }
}

}  // namespace paceline::kernels::portable
