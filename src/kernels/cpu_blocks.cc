// What drafters of whole blocks do beside products and attention. Plain loops: it is a small part of their time, and so
// its bits are the same on every table.
#include <algorithm>
#include <cstring>

#include "kernels/cpu_ops.h"

namespace paceline::kernels {
namespace {

void convolve_row(const BlockConvArgs& args, int64_t row, int32_t in_block) {
  const int32_t groups = args.width / args.group;
  const float* own = args.own + row * args.own_stride;
  float* y = args.y + row * args.width;
  std::fill_n(y, args.width, 0.0f);
  for (int32_t tap = 0; tap < std::min(args.taps, in_block + 1); ++tap) {
    const float* x = args.x + (row - tap) * args.width;
    const float* base = args.base + int64_t{tap} * args.width;
    for (int32_t g = 0; g < groups; ++g) {
      const float mine = own[tap * groups + g];
      for (int32_t c = g * args.group; c < (g + 1) * args.group; ++c) y[c] += (base[c] + mine) * x[c];
    }
  }
}

}  // namespace

void CpuOps::join(const JoinArgs& args) {
  const auto bytes = static_cast<size_t>(args.width) * sizeof(float);
  for (size_t i = 0; i < args.rows.size(); ++i)
    for (int64_t part = 0; part < args.parts; ++part)
      std::memcpy(args.to + (static_cast<int64_t>(i) * args.parts + part) * args.width,
                  args.from + (part * args.from_rows + args.rows[i]) * args.width, bytes);
}

void CpuOps::block_conv(const BlockConvArgs& args) {
  int64_t first = 0;
  for (const int32_t rows : args.block_rows) {
    for (int32_t row = 0; row < rows; ++row) convolve_row(args, first + row, row);
    first += rows;
  }
}

}  // namespace paceline::kernels
