// Products of many rows with q8 and q4 weights whose scales and biases are pairs.
#include "kernels/cuda/matmul_quantised_wide.cuh"

namespace paceline::kernels::cuda {
namespace {

template <Format kFormat, Scales kScales>
void start_group(const MatmulArgs& args, Stream stream) {
  const int32_t group = args.out[0].weight.group;
  if (group == 32)
    quantised_wide::start_step<QuantisedStep<kFormat, 32, kScales>>(args, stream);
  else if (group == 64)
    quantised_wide::start_step<QuantisedStep<kFormat, 64, kScales>>(args, stream);
  else
    quantised_wide::start_step<QuantisedStep<kFormat, 128, kScales>>(args, stream);
}

}  // namespace

void matmul_quantised_wide(const MatmulArgs& args, Stream stream) {
  const Weight& w = args.out[0].weight;
  if (of_blocks_alone(w))
    matmul_in_blocks_wide(args, stream);
  else if (w.format == Format::q8 && w.scales == Scales::f32)
    start_group<Format::q8, Scales::f32>(args, stream);
  else if (w.format == Format::q8)
    start_group<Format::q8, Scales::bf16>(args, stream);
  else if (w.scales == Scales::f32)
    start_group<Format::q4, Scales::f32>(args, stream);
  else
    start_group<Format::q4, Scales::bf16>(args, stream);
}

}  // namespace paceline::kernels::cuda
