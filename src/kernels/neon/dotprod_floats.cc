// y [rows, N] = x [rows, K] · W [N, K]^T for f32, f16, bf16 and E4M3 weights, widened in registers: the sums of
// lanes/matmul_f32.h, and so its bits, in other tiles. With few rows each output of a tile is read from a run of its
// own (streams.h); with many, rows stay in the first cache while outputs pass, which stay in the second.
//
// Bound: vector operations, two a cycle on most of these processors. Four products take one, four weights one more to
// widen, which is shared by the rows of a tile: with bf16 one row needs 2 operations for 4 weights, two 3, four 5: many
// rows do four fifths of the multiplications there are.
#include <arm_neon.h>

#include <cstring>

#include "kernels/lanes/matmul_f32.h"
#include "kernels/neon/dotprod.h"
#include "kernels/neon/streams.h"
#include "kernels/neon/vec.h"

namespace paceline::kernels::neon::dotprod {
namespace {

constexpr int32_t kFewRows = 4;
constexpr int32_t kCachedOutputs = 64;

struct Output {
  float* y;
  int64_t ldy;
};

// Eight weights as floats.
struct Floats {
  using Element = float;
  static void load(const float* w, float32x4_t (&out)[2]) { out[0] = vld1q_f32(w), out[1] = vld1q_f32(w + 4); }
  static float32x4_t load(const float* w) { return vld1q_f32(w); }
};
struct Halves {
  using Element = uint16_t;
  static void load(const uint16_t* w, float32x4_t (&out)[2]) {
    const float16x8_t eight = vreinterpretq_f16_u16(vld1q_u16(w));
    out[0] = vcvt_f32_f16(vget_low_f16(eight)), out[1] = vcvt_high_f32_f16(eight);
  }
  static float32x4_t load(const uint16_t* w) { return Vec::load_f16(w); }
};
struct Bf16s {
  using Element = uint16_t;
  static void load(const uint16_t* w, float32x4_t (&out)[2]) {
    const uint16x8_t eight = vld1q_u16(w);
    out[0] = vreinterpretq_f32_u32(vshll_n_u16(vget_low_u16(eight), 16));
    out[1] = vreinterpretq_f32_u32(vshll_high_n_u16(eight, 16));
  }
  static float32x4_t load(const uint16_t* w) { return Vec::load_bf16(w); }
};

// E4M3: as float16 they are what they should be times 2^-8, those without an exponent too.
struct Eighths {
  using Element = uint8_t;
  static float16x8_t halves(uint8x8_t eight) {
    const uint16x8_t wide = vreinterpretq_u16_s16(vshll_n_s8(vreinterpret_s8_u8(eight), 7));
    return vreinterpretq_f16_u16(vbicq_u16(wide, vdupq_n_u16(0x4000)));
  }
  static void load(const uint8_t* w, float32x4_t (&out)[2]) {
    const float16x8_t eight = halves(vld1_u8(w));
    out[0] = vmulq_n_f32(vcvt_f32_f16(vget_low_f16(eight)), 256.0f);
    out[1] = vmulq_n_f32(vcvt_high_f32_f16(eight), 256.0f);
  }
  static float32x4_t load(const uint8_t* w) {
    uint32_t four = 0;
    std::memcpy(&four, w, sizeof four);
    return vmulq_n_f32(vcvt_f32_f16(vget_low_f16(halves(vreinterpret_u8_u32(vdup_n_u32(four))))), 256.0f);
  }
};

// Sums of NR outputs and MR rows, 4 lanes each, over columns k … k + 4 * kSteps. All loops are unrolled, or the
// compiler would keep the sums in memory.
template <class Read, int kSteps, int NR, int MR>
[[gnu::always_inline]] inline void add_columns(const typename Read::Element* const (&w)[NR], const float* x,
                                               int64_t stride, float32x4_t (&sums)[NR][MR]) {
  float32x4_t values[MR][kSteps];
#pragma GCC unroll 4
  for (int m = 0; m < MR; ++m)
#pragma GCC unroll 2
    for (int step = 0; step < kSteps; ++step) values[m][step] = vld1q_f32(x + m * stride + 4 * step);
#pragma GCC unroll 8
  for (int n = 0; n < NR; ++n) {
    float32x4_t weights[kSteps];
    if constexpr (kSteps == 2)
      Read::load(w[n], weights);
    else
      weights[0] = Read::load(w[n]);
#pragma GCC unroll 2
    for (int step = 0; step < kSteps; ++step)
#pragma GCC unroll 4
      for (int m = 0; m < MR; ++m) sums[n][m] = vfmaq_f32(sums[n][m], weights[step], values[m][step]);
  }
}

// NR outputs of MR rows, all of K: out [MR][NR].
template <class Read, int NR, int MR>
[[gnu::noinline]] void tile(const typename Read::Element* const* rows, const float* x, int64_t stride, int32_t cols,
                            float* out) {
  using Element = typename Read::Element;
  float32x4_t sums[NR][MR];
#pragma GCC unroll 8
  for (int n = 0; n < NR; ++n)
#pragma GCC unroll 8
    for (int m = 0; m < MR; ++m) sums[n][m] = vdupq_n_f32(0);
  const Element* w[NR];
#pragma GCC unroll 8
  for (int n = 0; n < NR; ++n) w[n] = rows[n];
  const auto on = [&](int32_t columns) {
#pragma GCC unroll 8
    for (int n = 0; n < NR; ++n) w[n] += columns;
    x += columns;
    cols -= columns;
  };
  while (cols >= 8) add_columns<Read, 2>(w, x, stride, sums), on(8);
  if (cols >= 4) add_columns<Read, 1>(w, x, stride, sums), on(4);
  if (cols > 0) {
    Element padded[NR][4] = {};
    for (int n = 0; n < NR; ++n)
      for (int32_t i = 0; i < cols; ++i) padded[n][i] = w[n][i];
#pragma GCC unroll 8
    for (int n = 0; n < NR; ++n) w[n] = padded[n];
    add_columns<Read, 1>(w, x, stride, sums);
  }
#pragma GCC unroll 8
  for (int m = 0; m < MR; ++m)
#pragma GCC unroll 4
    for (int n = 0; n < NR; n += 2)
      vst1_f32(out + m * NR + n, vget_low_f32(vpaddq_f32(vpaddq_f32(sums[n][m], sums[n + 1][m]), vdupq_n_f32(0))));
}

// As many outputs as keep the multiplications going, and no more sums than registers. (Eight rows against two outputs
// would widen less, but longer rows leave the first cache then.)
constexpr int outputs_of(int rows) { return rows <= 2 ? 6 : 4; }

template <class Read, int MR, bool kNeighbours>
void rows_of(const Matrix& w, const float* x, int64_t stride, const Output& output, int32_t n_begin, int32_t n_end) {
  constexpr int kOutputs = outputs_of(MR);
  const Streams<kOutputs, kNeighbours> streams(n_begin, n_end);
  const auto* values = static_cast<const typename Read::Element*>(w.values);
  for (int32_t t = 0; t < streams.run; ++t) {
    const typename Read::Element* rows[kOutputs];
    float out[MR][kOutputs];
    for (int i = 0; i < kOutputs; ++i) rows[i] = values + streams.row(t, i) * w.stride();
    tile<Read, kOutputs, MR>(rows, x, stride, w.cols, out[0]);
    for (int m = 0; m < MR; ++m)
      for (int i = 0; i < kOutputs; ++i) output.y[m * output.ldy + streams.row(t, i)] = out[m][i];
  }
}

// Four rows at a time against outputs [n_begin, n_end), and no single one behind them.
template <class Read, bool kNeighbours>
void all_rows(const Matrix& w, const Act& x, const Output& output, int32_t n_begin, int32_t n_end) {
  const int64_t stride = lanes::f32_stride<Vec>(w.cols);
  const auto* rows = static_cast<const float*>(x.bytes);
  int32_t m = 0;
  const auto next = [&]<int MR>() {
    rows_of<Read, MR, kNeighbours>(w, rows + m * stride, stride, {output.y + m * output.ldy, output.ldy}, n_begin,
                                   n_end);
    m += MR;
  };
  while (m < x.shape.rows) {
    const int32_t left = x.shape.rows - m;
    if (left == 4 || left > 6)
      next.template operator()<4>();
    else if (left >= 3 && left != 5)
      next.template operator()<3>();
    else if (left >= 2)
      next.template operator()<2>();
    else
      next.template operator()<1>();
  }
}

template <class Read>
void matmul_as(const Matrix& w, const Act& x, const Output& output, int32_t n_begin, int32_t n_end) {
  if (x.shape.rows <= kFewRows) return all_rows<Read, false>(w, x, output, n_begin, n_end);
  for (int32_t n = n_begin; n < n_end; n += kCachedOutputs) {
    const int32_t end = n + kCachedOutputs < n_end ? n + kCachedOutputs : n_end;
    all_rows<Read, true>(w, x, output, n, end);
  }
}

}  // namespace

void matmul_floats(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  const Output output{y, ldy};
  switch (w.format) {
    case WeightFormat::f32: return matmul_as<Floats>(w, x, output, n_begin, n_end);
    case WeightFormat::f16: return matmul_as<Halves>(w, x, output, n_begin, n_end);
    case WeightFormat::f8: return matmul_as<Eighths>(w, x, output, n_begin, n_end);
    default: return matmul_as<Bf16s>(w, x, output, n_begin, n_end);
  }
}

}  // namespace paceline::kernels::neon::dotprod
