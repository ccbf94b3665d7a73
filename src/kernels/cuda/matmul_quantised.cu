// Products of few rows with q8 and q4 weights whose scales and biases are pairs.
#include "kernels/cuda/matmul_quantised.cuh"

namespace paceline::kernels::cuda {
namespace {

template <Format kFormat, Scales kScales>
void start_group(const MatmulArgs& args, Stream stream, bool early) {
  const int32_t group = args.out[0].weight.group;
  if (group == 32)
    narrow::start_step<QuantisedStep<kFormat, 32, kScales>>(args, stream, early);
  else if (group == 64)
    narrow::start_step<QuantisedStep<kFormat, 64, kScales>>(args, stream, early);
  else
    narrow::start_step<QuantisedStep<kFormat, 128, kScales>>(args, stream, early);
}

}  // namespace

void matmul_quantised(MatmulArgs args, Stream stream, bool early) {
  constexpr int32_t kPlenty = 1024;  // about two full sets of a large device's places
  narrow::lay_out(args, kQuantisedUnitOutputs, kPlenty, args.rows <= 8 ? 8 : 16);
  const Weight& w = args.out[0].weight;
  if (of_blocks_alone(w))
    matmul_in_blocks(args, stream, early);
  else if (w.format == Format::q8 && w.scales == Scales::f32)
    start_group<Format::q8, Scales::f32>(args, stream, early);
  else if (w.format == Format::q8)
    start_group<Format::q8, Scales::bf16>(args, stream, early);
  else if (w.scales == Scales::f32)
    start_group<Format::q4, Scales::f32>(args, stream, early);
  else
    start_group<Format::q4, Scales::bf16>(args, stream, early);
}

}  // namespace paceline::kernels::cuda
