// Products of few rows with weights that lie in GGUF's blocks in their file.
#include "kernels/cuda/in_blocks.cuh"
#include "kernels/cuda/matmul_quantised.cuh"

namespace paceline::kernels::cuda {

void matmul_in_blocks(const MatmulArgs& args, Stream stream, bool early) {
  with_block_step(args.out[0].weight, [&]<class Step>(Step) { narrow::start_step<Step>(args, stream, early); });
}

}  // namespace paceline::kernels::cuda
