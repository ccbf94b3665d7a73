// Products of many rows with weights that lie in GGUF's blocks in their file.
#include "kernels/cuda/in_blocks.cuh"
#include "kernels/cuda/matmul_quantised_wide.cuh"

namespace paceline::kernels::cuda {

void matmul_in_blocks_wide(const MatmulArgs& args, Stream stream) {
  with_block_step(args.out[0].weight, [&]<class Step>(Step) { quantised_wide::start_step<Step>(args, stream); });
}

}  // namespace paceline::kernels::cuda
