// Attention of heads with 128 dims: see attention.cu.
#include "kernels/cuda/attention_bf16.cuh"

namespace paceline::kernels::cuda {

using attention_block::start;

void attention_128(const AttentionArgs& args, Stream stream) {
  const int32_t queries = queries_of(args.heads, args.kv_heads, args.block_rows);
  if (queries <= 8)
    start<1, 1, 128>(args, stream);
  else if (queries <= 16)
    start<2, 1, 128>(args, stream);
  else if (queries <= 32)
    start<4, 1, 128>(args, stream);
  else
    start<8, 1, 128>(args, stream);
}

}  // namespace paceline::kernels::cuda
