// Matrix products of many rows, on the tensor cores.
//
//   y [rows, n] = W [n, k] x [rows, k], bf16
// A block of two warpgroups owns 128 outputs (gated: 64 of gate and the same 64 of up) and 128 or 256 rows. Weights go
// straight into registers in the order they are packed in; rows pass through shared memory in stages of 64 columns,
// 128-byte rows whose 16-byte chunks are exchanged by row number (the tensor cores' own swizzle). At the border of a
// part of K the sums of the part are added to the total, as narrow kernels add them: a row's bits are the same in both.
// With 128 rows the total is in registers, with 256 in shared memory: there are no registers left, but the L2 cache,
// which is what bounds this kernel, is read a quarter less.
//
// Bound: operations, behind it the bytes that L2 gives. Share of cuBLAS's rate reached on an H200 with 2048 rows: 62 to
// 65 % at 31B's widths, 26 to 45 % at 26B-A4B's narrow ones.
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/matmul.h"

// Warpgroup instructions exist for this one architecture only.
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define PACELINE_WARPGROUPS 1
#else
#define PACELINE_WARPGROUPS 0
#endif

namespace paceline::kernels::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kGroupOutputs = 64;  // of a warpgroup
constexpr int kOutStride = 2 * kGroupOutputs + 4;
template <int kRows>
constexpr int kStages = kRows == 128 ? 4 : 3;
template <int kRows>
constexpr int kStageBytes = kRows* kBlockK * 2;
// Totals of 256 rows lie behind the stages; outputs at the end take the place of all.
template <int kRows>
constexpr int kSharedBytes = 1024 +
                             (kRows == 128 ? kRows * kOutStride * 4 : kStages<256> * kStageBytes<256> + 256 * 128 * 4);
static_assert(kSharedBytes<128> >= kStages<128> * kStageBytes<128> + 1024);
static_assert(kSharedBytes<256> >= 256 * kOutStride * 4 && kSharedBytes<256> <= 232448);

#if PACELINE_WARPGROUPS
// Where a tile of rows lies for the tensor cores: 8 rows of 128 bytes after each other, swizzled.
__device__ __forceinline__ uint64_t describe(uint32_t address) {
  constexpr uint64_t kSwizzle128 = uint64_t{1} << 62, kStride = uint64_t{1024 >> 4} << 32, kLeading = uint64_t{1} << 16;
  return kSwizzle128 | kStride | kLeading | ((address & 0x3ffffu) >> 4);
}

// clang-format off
__device__ __forceinline__ void warpgroup_mma(float (&d)[64], const uint4& a, uint64_t b, int keep) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %69, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, {%64, %65, %66, %67}, %68, p, 1, 1, 0;\n}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
      : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "l"(b), "r"(keep));
}
__device__ __forceinline__ void warpgroup_mma(float (&d)[128], const uint4& a, uint64_t b, int keep) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %133, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, {%128, %129, %130, %131}, %132, p, 1, 1, 0;\n}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]), "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]), "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]), "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]), "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111]), "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119]), "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])
      : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "l"(b), "r"(keep));
}
// clang-format on
__device__ __forceinline__ void warpgroup_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void warpgroup_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int kLeft>
__device__ __forceinline__ void warpgroup_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kLeft) : "memory");
}
#endif

// Which matrix, outputs and rows a block has.
struct Place {
  const Product* product;
  int32_t unit;
  int32_t expert, first_slot;
  int32_t row_base, rows;
};

template <int kRows>
__device__ bool find_place(const MatmulArgs& args, Place& at) {
  int32_t p = 0;
  while (p + 1 < args.count && static_cast<int32_t>(blockIdx.y) >= args.out[p + 1].first_block) ++p;
  at.product = &args.out[p];
  const int32_t local = static_cast<int32_t>(blockIdx.y) - at.product->first_block;
  at.unit = local % at.product->units;
  at.row_base = static_cast<int32_t>(blockIdx.x) * kRows;
  at.expert = 0;
  at.first_slot = 0;
  at.rows = args.rows;
  if (args.experts.plan != nullptr) {
    const int32_t touched = local / at.product->units;
    if (touched >= args.experts.plan->touched) return false;
    at.expert = args.experts.plan->expert[touched];
    at.first_slot = args.experts.plan->first[touched];
    at.rows = args.experts.plan->first[touched + 1] - at.first_slot;
  }
  return at.row_base < at.rows;
}

// Eight threads copy a row of every stage, 16 bytes each; a thread has every 32nd row.
template <int kRows>
struct RowCopy {
  static constexpr int kEach = kRows / (kThreads / 8);
  const char* from;        // the thread's chunk of row 0
  uint32_t offset[kEach];  // of its rows, in 16 bytes
  uint32_t has;            // one bit per row
  uint32_t to;             // of stage 0: the thread's chunk of its first row

  __device__ RowCopy(const MatmulArgs& args, const Place& at, uint32_t shared) {
    const int row = threadIdx.x / 8, chunk = threadIdx.x % 8;
    has = 0;
    from = static_cast<const char*>(args.x.values) + chunk * 16;
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      int32_t source = at.row_base + row + i * 32;
      const bool there = source < at.rows;
      if (there && args.experts.plan != nullptr)
        source =
            args.experts.slot_row != nullptr ? args.experts.slot_row[at.first_slot + source] : at.first_slot + source;
      offset[i] = there ? static_cast<uint32_t>(source) * static_cast<uint32_t>(args.x.stride / 8) : 0u;
      has |= there ? 1u << i : 0u;
    }
    // Rows 32 apart have the same place in their group of eight, and so the same swizzle.
    to = shared + row * 128 + ((chunk ^ (row & 7)) << 4);
  }
  __device__ void stage(int32_t block, int slot, int32_t blocks) const {
    const bool inside = block < blocks;
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const bool take = inside && (has >> i & 1u) != 0;
      copy16_async(to + slot * kStageBytes<kRows> + i * 32 * 128,
                   from + (static_cast<uint64_t>(offset[i]) << 4) + static_cast<int64_t>(take ? block : 0) * 128, take);
    }
  }
};

// One block of K: acc += W x, from acc = 0 where keep is 0.
template <int kFloats>
__device__ __forceinline__ void multiply_block(float (&acc)[kFloats], const uint4 (&a)[4], uint32_t rows, int keep) {
#if PACELINE_WARPGROUPS
  warpgroup_fence();
#pragma unroll
  for (int k = 0; k < 4; ++k) warpgroup_mma(acc, a[k], describe(rows + k * 32), k == 0 ? keep : 1);
  warpgroup_commit();
#else
  if (keep == 0)
#pragma unroll
    for (int i = 0; i < kFloats; ++i) acc[i] = 0;
  const int lane = threadIdx.x % 32;
  const int row = lane % 8 + lane / 16 * 8;
#pragma unroll
  for (int k = 0; k < 4; ++k)
#pragma unroll
    for (int j = 0; j < kFloats / 4; j += 2) {
      uint32_t b[4];
      const int chunk = k * 2 + lane / 8 % 2;
      ldmatrix4(rows + (j * 8 + row) * 128 + ((chunk ^ (row & 7)) << 4), b[0], b[1], b[2], b[3]);
      mma_bf16(*reinterpret_cast<float(*)[4]>(acc + j * 4), a[k], b[0], b[1]);
      mma_bf16(*reinterpret_cast<float(*)[4]>(acc + j * 4 + 4), a[k], b[2], b[3]);
    }
#endif
}

template <int kLeft>
__device__ __forceinline__ void wait_products() {
#if PACELINE_WARPGROUPS
  warpgroup_wait<kLeft>();
#endif
}

__device__ __forceinline__ void load_block(uint4 (&a)[4], const char* stream, int32_t block, int32_t blocks) {
#pragma unroll
  for (int k = 0; k < 4; ++k)
    a[k] = block < blocks ? *reinterpret_cast<const uint4*>(stream + static_cast<int64_t>(block) * 2048 + k * 512)
                          : make_uint4(0, 0, 0, 0);
}

template <int kFloats>
__device__ void write_outputs(const Place& at, const float (&total)[kFloats], float* sums) {
  constexpr int kRows = kFloats * 2;
  const int group = threadIdx.x / 128, warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  __syncthreads();
#pragma unroll
  for (int j = 0; j < kFloats / 4; ++j)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      sums[(j * 8 + t * 2 + i % 2) * kOutStride + group * kGroupOutputs + warp * 16 + g + i / 2 * 8] = total[j * 4 + i];
  __syncthreads();
  const Product& p = *at.product;
  const int32_t width = p.gated() ? kGroupOutputs : 2 * kGroupOutputs, n = p.weight.rows;
  for (int32_t i = threadIdx.x; i < kRows * width; i += kThreads) {
    const int32_t r = i / width, o = i % width, output = at.unit * width + o;
    if (at.row_base + r >= at.rows || output >= n) continue;
    float value = sums[r * kOutStride + o];
    if (p.gated()) value = gelu(value) * sums[r * kOutStride + kGroupOutputs + o];
    const int64_t row = at.first_slot + at.row_base + r;
    if (p.y != nullptr) p.y[row * n + output] = value;
    if (p.y_bf16 != nullptr)
      reinterpret_cast<__nv_bfloat16*>(p.y_bf16)[row * p.y_stride + output] = __float2bfloat16_rn(value);
  }
}

// Where a warp's weights stream from.
struct Stream16 {
  const char* from;
  int32_t blocks, blocks_here, part;

  __device__ Stream16(const Place& at) {
    const int group = threadIdx.x / 128, warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
    const bool gated = at.product->gated();
    const Weight& w = gated && group == 1 ? at.product->up : at.product->weight;
    const int32_t tile = gated ? at.unit * 4 + warp : at.unit * 8 + group * 4 + warp;
    blocks = w.depth() / kBlockK;
    blocks_here = tile < w.tiles() ? blocks : 0;
    part = w.part;
    from = static_cast<const char*>(w.values) + static_cast<int64_t>(at.expert) * w.stride_values +
           static_cast<int64_t>(blocks_here == 0 ? 0 : tile) * blocks * 2048 + lane * 16;
  }
};

__device__ __forceinline__ void show_copies_to_tensor_cores() {
#if PACELINE_WARPGROUPS
  // What the copies wrote is read by the tensor cores past the usual way.
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

__global__ void __launch_bounds__(kThreads, 1) wide_128(const __grid_constant__ MatmulArgs args) {
  extern __shared__ char raw[];
  const uint32_t shared = (shared_address(raw) + 1023) / 1024 * 1024;
  Place at;
  let_next_start();
  wait_for_previous();
  if (!find_place<128>(args, at)) return;
  const Stream16 weights(at);
  const int32_t blocks = weights.blocks, blocks_here = weights.blocks_here;
  const char* stream = weights.from;
  const RowCopy<128> copy(args, at, shared);
#pragma unroll
  for (int s = 0; s < 2; ++s) {
    copy.stage(s, s, blocks);
    commit_copies();
  }
  // Four blocks of weights: this one's, the one before, whose products may still run, and two on their way.
  uint4 a[4][4];
  load_block(a[0], stream, 0, blocks_here);
  load_block(a[1], stream, 1, blocks_here);
  float acc[64], total[64];
#pragma unroll
  for (int i = 0; i < 64; ++i) total[i] = 0;
  const int32_t part = weights.part;
  for (int32_t part_begin = 0; part_begin < blocks; part_begin += part) {
    // Blocks behind the last one are zeros on both sides, and add nothing.
    const int32_t part_end = min(blocks, part_begin + part);
    for (int32_t outer = part_begin; outer < part_end; outer += 4) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int32_t block = outer + i;
        wait_copies<1>();
        show_copies_to_tensor_cores();
        __syncthreads();
        // The slot of two blocks ago: every thread has waited for that block's products.
        copy.stage(block + 2, (i + 2) % kStages<128>, blocks);
        commit_copies();
        multiply_block(acc, a[i], shared + i * kStageBytes<128>, i > 0 || outer > part_begin);
        wait_products<1>();
        load_block(a[(i + 2) % 4], stream, block + 2, blocks_here);
      }
    }
    wait_products<0>();
#pragma unroll
    for (int k = 0; k < 64; ++k) total[k] += acc[k];
  }
  wait_copies<0>();
  write_outputs(at, total, reinterpret_cast<float*>(raw));
}

// Totals of the parts so far, each thread's own: [float4][thread].
[[maybe_unused]] __device__ __forceinline__ void add_totals(float (&acc)[128], const float4* totals) {
#pragma unroll
  for (int i = 0; i < 32; ++i) {
    const float4 t = totals[i * kThreads + threadIdx.x];
    acc[i * 4] = t.x + acc[i * 4];
    acc[i * 4 + 1] = t.y + acc[i * 4 + 1];
    acc[i * 4 + 2] = t.z + acc[i * 4 + 2];
    acc[i * 4 + 3] = t.w + acc[i * 4 + 3];
  }
}

__global__ void __launch_bounds__(kThreads, 1) wide_256(const __grid_constant__ MatmulArgs args) {
#if PACELINE_WARPGROUPS
  extern __shared__ char raw[];
  const uint32_t offset = (shared_address(raw) + 1023) / 1024 * 1024 - shared_address(raw);
  const uint32_t shared = shared_address(raw) + offset;
  auto* totals = reinterpret_cast<float4*>(raw + offset + kStages<256> * kStageBytes<256>);
  Place at;
  let_next_start();
  wait_for_previous();
  if (!find_place<256>(args, at)) return;
  const Stream16 weights(at);
  const RowCopy<256> copy(args, at, shared);
  copy.stage(0, 0, weights.blocks);
  commit_copies();
  uint4 a[2][4];
  load_block(a[0], weights.from, 0, weights.blocks_here);
  float acc[128];
  int slot = 0;
  for (int32_t part_begin = 0; part_begin < weights.blocks; part_begin += weights.part) {
    const int32_t part_end = min(weights.blocks, part_begin + weights.part);
    for (int32_t outer = part_begin; outer < part_end; outer += 2) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int32_t block = outer + i;
        wait_copies<0>();
        show_copies_to_tensor_cores();
        __syncthreads();
        // The slot of two blocks ago: every thread has waited for that block's products.
        const int next = slot == 2 ? 0 : slot + 1;
        copy.stage(block + 1, next, weights.blocks);
        commit_copies();
        multiply_block(acc, a[i], shared + slot * kStageBytes<256>, i > 0 || outer > part_begin);
        wait_products<1>();
        load_block(a[1 - i], weights.from, block + 1, weights.blocks_here);
        slot = next;
      }
    }
    wait_products<0>();
    if (part_begin > 0) add_totals(acc, totals);
    if (part_end < weights.blocks) {
#pragma unroll
      for (int i = 0; i < 32; ++i)
        totals[i * kThreads + threadIdx.x] = make_float4(acc[i * 4], acc[i * 4 + 1], acc[i * 4 + 2], acc[i * 4 + 3]);
    }
  }
  wait_copies<0>();
  write_outputs(at, acc, reinterpret_cast<float*>(raw));
#endif
}

// Whether the device has what wide_256 is written in.
bool has_warpgroups() {
  static const bool has = [] {
    int device = 0, major = 0;
    return cudaGetDevice(&device) == cudaSuccess &&
           cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess && major == 9;
  }();
  return has;
}

}  // namespace

void matmul_wide(MatmulArgs args, Stream stream) {
  args.blocks = 0;
  const int32_t matrices = args.experts.plan != nullptr ? args.experts.most_touched : 1;
  for (int32_t i = 0; i < args.count; ++i) {
    Product& p = args.out[i];
    p.first_block = args.blocks;
    p.units = ceil_div(p.weight.rows, p.gated() ? kGroupOutputs : 2 * kGroupOutputs);
    args.blocks += p.units * matrices;
  }
  // Large blocks where they still fill the device.
  const bool large =
      has_warpgroups() &&
      (args.experts.plan != nullptr ? args.rows >= 4096
                                    : int64_t{ceil_div(args.rows, 256)} * args.blocks >= 160 && args.rows > 128);
  const int32_t rows = large ? 256 : 128;
  const dim3 grid(static_cast<unsigned>(ceil_div(args.rows, rows)), static_cast<unsigned>(args.blocks));
  if (large) {
    launch(wide_256, grid, dim3(kThreads), kSharedBytes<256>, stream, true, args);
  } else {
    launch(wide_128, grid, dim3(kThreads), kSharedBytes<128>, stream, true, args);
  }
}

}  // namespace paceline::kernels::cuda
