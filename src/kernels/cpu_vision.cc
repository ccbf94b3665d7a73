// What the vision side does row by row. Plain loops: beside its matrix products this is nothing, and so its bits are
// the same on every table.
#include <algorithm>
#include <cmath>

#include "kernels/cpu_ops.h"

namespace paceline::kernels {
namespace {

int64_t rows_per_piece(int64_t width) { return std::max<int64_t>(1, kElementsPerPiece / std::max<int64_t>(1, width)); }

void normalise(const LayerNormArgs& args, int64_t row) {
  const float* x = args.x + row * args.width;
  float* y = args.y + row * args.width;
  double sum = 0;
  for (int32_t i = 0; i < args.width; ++i) sum += static_cast<double>(x[i]);
  const double mean = sum / args.width;
  double squares = 0;
  for (int32_t i = 0; i < args.width; ++i) {
    const double off = static_cast<double>(x[i]) - mean;
    squares += off * off;
  }
  const double factor = 1.0 / std::sqrt(squares / args.width + static_cast<double>(args.eps));
  for (int32_t i = 0; i < args.width; ++i) {
    const auto unit = static_cast<float>((static_cast<double>(x[i]) - mean) * factor);
    y[i] = unit * args.weight[i] + args.bias[i];
  }
}

}  // namespace

void CpuOps::layer_norm(const LayerNormArgs& args) {
  pool_.run(args.rows, rows_per_piece(args.width), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) normalise(args, row);
  });
}

void CpuOps::average(const AverageArgs& args) {
  const int64_t width = args.width;
  const float factor = args.scale / static_cast<float>(args.per_group);
  pool_.run(args.groups, rows_per_piece(width * args.per_group), [&](int64_t begin, int64_t end) {
    for (int64_t group = begin; group < end; ++group) {
      const int32_t* members = args.members + group * args.per_group;
      float* y = args.y + group * width;
      std::copy_n(args.x + members[0] * width, width, y);
      for (int32_t m = 1; m < args.per_group; ++m) {
        const float* x = args.x + members[m] * width;
        for (int64_t i = 0; i < width; ++i) y[i] += x[i];
      }
      for (int64_t i = 0; i < width; ++i) y[i] *= factor;
    }
  });
}

void CpuOps::shift_scale(const ShiftScaleArgs& args) {
  pool_.run(args.rows, rows_per_piece(args.width), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      float* y = args.y + row * args.width;
      for (int32_t i = 0; i < args.width; ++i) y[i] += args.shift[i];
      for (int32_t i = 0; i < args.width && args.scale != nullptr; ++i) y[i] *= args.scale[i];
    }
  });
}

void CpuOps::clamp(const float* x, float* y, float low, float high, int64_t count) {
  pool_.run(count, kElementsPerPiece, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) y[i] = std::min(std::max(x[i], low), high);
  });
}

}  // namespace paceline::kernels
