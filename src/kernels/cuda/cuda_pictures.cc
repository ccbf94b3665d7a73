// CudaOps over patches of pictures.
#include "kernels/cuda/cuda_ops.h"
#include "kernels/cuda/pictures.h"

namespace paceline::kernels::cuda {

void CudaOps::layer_norm(const LayerNormArgs& args) {
  flush();
  written(args.y, static_cast<int64_t>(args.rows) * args.width);
  if (status_.ok())
    cuda::layer_norm({args.x, args.weight, args.bias, args.y, args.rows, args.width, args.eps}, stream_);
}

void CudaOps::average(const AverageArgs& args) {
  flush();
  written(args.y, static_cast<int64_t>(args.groups) * args.width);
  const size_t all = static_cast<size_t>(args.groups) * static_cast<size_t>(args.per_group);
  const int32_t* members = sent(std::span(args.members, all));
  const float factor = args.scale / static_cast<float>(args.per_group);
  if (status_.ok()) cuda::average({args.x, members, args.y, args.groups, args.per_group, args.width, factor}, stream_);
}

void CudaOps::shift_scale(const ShiftScaleArgs& args) {
  flush();
  written(args.y, static_cast<int64_t>(args.rows) * args.width);
  if (status_.ok()) cuda::shift_scale({args.y, args.shift, args.scale, args.rows, args.width}, stream_);
}

void CudaOps::clamp(const float* x, float* y, float low, float high, int64_t count) {
  flush();
  written(y, count);
  if (status_.ok()) cuda::clamp(x, y, low, high, count, stream_);
}

}  // namespace paceline::kernels::cuda
