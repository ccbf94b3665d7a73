// Operations that only drafters of whole blocks need; rules and shapes as in ops.h.
#pragma once

#include <cstdint>
#include <span>

namespace paceline::kernels {

// to[i] = from[0][rows[i]], then from[1][rows[i]], …
struct JoinArgs {
  const float* from = nullptr;    // [parts, from_rows, width]
  std::span<const int32_t> rows;  // host memory
  float* to = nullptr;            // [rows, parts * width]
  int32_t parts = 0, from_rows = 0, width = 0;
};

// y[r, c] = sum over taps t, ascending, of (base[t, c] + own[r, t, c / group]) * x[r - t, c]
// Rows come in blocks; what lies before a block counts as zero.
struct BlockConvArgs {
  const float* x = nullptr;     // [rows, width]
  const float* base = nullptr;  // [taps, width]
  const float* own = nullptr;   // [rows, taps, width / group], each row `own_stride` numbers behind the one before it
  float* y = nullptr;           // [rows, width]; not x
  int64_t own_stride = 0;
  int32_t width = 0, taps = 0, group = 1;
  std::span<const int32_t> block_rows;  // of each block, host memory; together all rows
};

class BlockOps {
 public:
  virtual ~BlockOps() = default;

  virtual void join(const JoinArgs& args) = 0;
  virtual void block_conv(const BlockConvArgs& args) = 0;
};

}  // namespace paceline::kernels
