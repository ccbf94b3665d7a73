// Products of few rows with bf16 weights, or with such that become bf16 on their way; the latter of any number of rows.
// However many rows there are, weights are read once; with more than two tiles of rows that is no longer all that counts.
//
// Bound: bytes of weights over memory bandwidth. Share reached on an H200, 31B's shapes, 1 row (8 rows): 88 to 100 %
// (85 to 97 %); the output's product, which is read once, 98 % (98 %). What is missing is where launches meet: the last
// sums, and the rows that the next one waits for.
#include "kernels/cuda/narrow_block.cuh"

namespace paceline::kernels::cuda {
namespace narrow {
namespace {

template <class Chunk, int kSpan, int kTiles>
__global__ void __launch_bounds__(kThreads, kBlocks)
    narrow_bf16(const __grid_constant__ MatmulArgs args, const __grid_constant__ Staging staging) {
  extern __shared__ __align__(128) char shared[];
  multiply_unit<Chunk, kSpan, kTiles>(args, staging, shared);
}

template <class Chunk, int kSpan, int kTiles>
void start_tiles(const MatmulArgs& args, int32_t groups, Stream stream, bool early) {
  launch(narrow_bf16<Chunk, kSpan, kTiles>, dim3(static_cast<unsigned>(args.blocks), static_cast<unsigned>(groups)),
         dim3(kThreads), kBytes, stream, early, args, staging_of<Chunk, kSpan, kTiles>(args));
}

template <class Chunk, int kSpan>
void start_chunks(const MatmulArgs& args, int32_t group_rows, Stream stream, bool early) {
  const int32_t groups = ceil_div(args.rows, group_rows);
  switch (group_rows) {
    case 8: start_tiles<Chunk, kSpan, 1>(args, groups, stream, early); break;
    case 16: start_tiles<Chunk, kSpan, 2>(args, groups, stream, early); break;
    // There rows take the room.
    case 32: start_tiles<Chunk, 1, 4>(args, groups, stream, early); break;
    default: start_tiles<Chunk, 1, 8>(args, groups, stream, early);
  }
}

}  // namespace
}  // namespace narrow

void matmul_narrow(MatmulArgs args, Stream stream, bool early) {
  const int32_t group_rows = args.rows <= 8 ? 8 : args.rows <= 16 ? 16 : args.rows <= 32 ? 32 : 64;
  narrow::lay_out(args, kUnitOutputs, narrow::kPlenty, group_rows);
  const Format format = args.out[0].weight.format;
  // Parts are whole numbers of four blocks, all but the last.
  bool fours = true;
  for (int32_t i = 0; i < args.count; ++i) fours = fours && args.out[i].weight.depth() % (4 * kBlockK) == 0;
  if (format == Format::f8)
    fours ? narrow::start_chunks<F8Chunk, 2>(args, group_rows, stream, early)
          : narrow::start_chunks<F8Chunk, 1>(args, group_rows, stream, early);
  else if (format == Format::f4)
    fours ? narrow::start_chunks<F4Chunk, 4>(args, group_rows, stream, early)
          : narrow::start_chunks<F4Chunk, 1>(args, group_rows, stream, early);
  else
    narrow::start_chunks<Bf16Chunk, 1>(args, group_rows, stream, early);
}

}  // namespace paceline::kernels::cuda
