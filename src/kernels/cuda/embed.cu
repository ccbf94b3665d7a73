// Rows of the embedding, out of the packed matrix. Bound by bytes; a few kilobytes per row.
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/rows.h"

namespace paceline::kernels::cuda {
namespace {

constexpr int kThreads = 256;

__global__ void embed_kernel(const EmbedArgs args) {
  let_next_start();
  wait_for_previous();
  const int32_t row = static_cast<int32_t>(blockIdx.y), col = static_cast<int32_t>(blockIdx.x * kThreads + threadIdx.x);
  if (col >= args.table.cols) return;
  args.y[static_cast<int64_t>(row) * args.table.cols + col] = element(args.table, args.tokens[row], col) * args.scale;
}

}  // namespace

void embed(const EmbedArgs& args, Stream stream) {
  const dim3 grid(static_cast<unsigned>(ceil_div(args.table.cols, kThreads)), static_cast<unsigned>(args.rows));
  launch(embed_kernel, grid, dim3(kThreads), 0, stream, true, args);
}

}  // namespace paceline::kernels::cuda
