// y [rows, N] = x [rows, K] · W [N, K]^T for quantised W as dotprod.h lays it out.
//
// Per group g of one output n and row r: D = Σ q_w q_x, exact in int32; then in float32, groups ascending,
//   sum = fma(D, s[n,g] * a[r,g], sum);  sum = fma(b[n,g], a[r,g] * Σ q_x, sum)
// with s, b the group's scale and bias and a the row's scale. Lanes hold different outputs, rows have sums of their
// own: every tile gives the same bits.
//
// Bound: with few rows the bytes of W; per 64 columns of four outputs one row takes 16 dot products, 4 other operations
// and 17 loads (q4: 24 more operations, once for all rows of a tile). With many rows the dot products: 16 products
// each, two a cycle on most of these processors, and 5 operations per row and group besides.
#include <arm_neon.h>

#include "kernels/neon/dotprod.h"
#include "kernels/neon/packed_format.h"

namespace paceline::kernels::neon::dotprod {
namespace {

struct Rows {
  const int8_t* q;
  const float* scales;
  const float* sums;
  const int32_t* corrections;
  int32_t cols, groups;
};

float32x4_t load_scales(const uint8_t* p, uint16_t) {
  return vreinterpretq_f32_u32(vshll_n_u16(vreinterpret_u16_u8(vld1_u8(p)), 16));
}
float32x4_t load_scales(const uint8_t* p, float) { return vreinterpretq_f32_u8(vld1q_u8(p)); }

// 16 columns of four outputs as four operands of four columns each.
template <bool kNibbles>
inline void operands(const uint8_t* w, int8x16_t (&out)[4]) {
  if constexpr (kNibbles) {
    for (int i = 0; i < 2; ++i) {
      const uint8x16_t bytes = vld1q_u8(w + 16 * i);
      out[2 * i] = vreinterpretq_s8_u8(vandq_u8(bytes, vdupq_n_u8(15)));
      out[2 * i + 1] = vreinterpretq_s8_u8(vshrq_n_u8(bytes, 4));
    }
  } else {
    for (int i = 0; i < 4; ++i) out[i] = vreinterpretq_s8_u8(vld1q_u8(w + 16 * i));
  }
}

// A block against MR rows from row r on. A function of its own, so that sums keep to the registers.
template <bool kNibbles, int kGroup, class Scale, int MR>
[[gnu::noinline]] void tile(const uint8_t* w, const Rows& x, int32_t r, float32x4_t* out) {
  const int8_t* q = x.q + static_cast<int64_t>(r) * x.cols;
  const int64_t first = static_cast<int64_t>(r) * x.groups;
  float32x4_t sums[MR];
#pragma GCC unroll 8
  for (int m = 0; m < MR; ++m) sums[m] = vdupq_n_f32(0);
  for (int32_t g = 0; g < x.groups; ++g) {
    const float32x4_t s = load_scales(w, Scale{}), b = load_scales(w + 4 * sizeof(Scale), Scale{});
    w += 8 * sizeof(Scale);
    int32x4_t d[MR];
#pragma GCC unroll 8
    for (int m = 0; m < MR; ++m)
      d[m] = kNibbles ? vdupq_n_s32(kMagicBits) : vld1q_dup_s32(x.corrections + first + int64_t{m} * x.groups + g);
    // A second chain where one row's products would wait for each other.
    int32x4_t e = vdupq_n_s32(0);
#pragma GCC unroll 2
    for (int k = 0; k < kGroup; k += 16) {
      int8x16_t values[4];
      operands<kNibbles>(w, values);
      w += kNibbles ? 32 : 64;
#pragma GCC unroll 8
      for (int m = 0; m < MR; ++m) {
        const int8x16_t xs = vld1q_s8(q + int64_t{m} * x.cols + k);
        d[m] = vdotq_laneq_s32(d[m], values[0], xs, 0);
        d[m] = vdotq_laneq_s32(d[m], values[1], xs, 1);
        int32x4_t& other = MR == 1 ? e : d[m];
        other = vdotq_laneq_s32(other, values[2], xs, 2);
        other = vdotq_laneq_s32(other, values[3], xs, 3);
      }
    }
    if constexpr (MR == 1) d[0] = vaddq_s32(d[0], e);
    q += kGroup;
#pragma GCC unroll 8
    for (int m = 0; m < MR; ++m) {
      const int64_t at = first + int64_t{m} * x.groups + g;
      const float32x4_t whole = vsubq_f32(vreinterpretq_f32_s32(d[m]), vdupq_n_f32(kMagic));
      sums[m] = vfmaq_f32(sums[m], whole, vmulq_n_f32(s, x.scales[at]));
      sums[m] = vfmaq_n_f32(sums[m], b, x.sums[at]);
    }
  }
#pragma GCC unroll 8
  for (int m = 0; m < MR; ++m) out[m] = sums[m];
}

struct Output {
  float* y;
  int64_t ldy;
  int32_t n_end;

  void store(const float32x4_t* sums, int32_t rows, int32_t r, int32_t n) const {
    for (int32_t m = 0; m < rows; ++m) {
      float* to = y + (r + m) * ldy + n;
      if (n + kBlockRows <= n_end) {
        vst1q_f32(to, sums[m]);
        continue;
      }
      float four[kBlockRows];
      vst1q_f32(four, sums[m]);
      for (int i = 0; n + i < n_end; ++i) to[i] = four[i];
    }
  }
};

// A block against rows [r, end).
template <bool kNibbles, int kGroup, class Scale>
void pass(const uint8_t* block, const Rows& x, int32_t r, int32_t end, int32_t n, const Output& output) {
  float32x4_t sums[8];
  const auto next = [&]<int MR>() {
    tile<kNibbles, kGroup, Scale, MR>(block, x, r, sums);
    output.store(sums, MR, r, n);
    r += MR;
  };
  while (end - r >= 8) next.template operator()<8>();
  switch (end - r) {
    case 7: return next.template operator()<7>();
    case 6: return next.template operator()<6>();
    case 5: return next.template operator()<5>();
    case 4: return next.template operator()<4>();
    case 3: return next.template operator()<3>();
    case 2: return next.template operator()<2>();
    case 1: return next.template operator()<1>();
    default: return;
  }
}

// With many rows: so many of them stay in the first cache while so many outputs pass, which stay in the second.
constexpr int32_t kCachedRows = 16;
constexpr int32_t kCachedOutputs = 128;

template <bool kNibbles, int kGroup, class Scale>
void run(const Matrix& w, const Act& act, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  const portable::QuantisedRows parts = portable::quantised_rows(act);
  const Rows x{parts.q, parts.scales, parts.sums, kNibbles ? nullptr : corrections(act), w.cols, w.cols / kGroup};
  const Output output{y, ldy, n_end};
  const size_t bytes = block_bytes(w);
  const auto* blocks = static_cast<const uint8_t*>(w.values);
  for (int32_t first = n_begin; first < n_end; first += kCachedOutputs) {
    const int32_t last = first + kCachedOutputs < n_end ? first + kCachedOutputs : n_end;
    for (int32_t r = 0; r < act.shape.rows; r += kCachedRows) {
      const int32_t end = r + kCachedRows < act.shape.rows ? r + kCachedRows : act.shape.rows;
      for (int32_t n = first; n < last; n += kBlockRows)
        pass<kNibbles, kGroup, Scale>(blocks + static_cast<size_t>(n / kBlockRows) * bytes, x, r, end, n, output);
    }
  }
}

}  // namespace

void matmul_quantised(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  with_format(
      w, [&]<bool kNibbles, int kGroup, class Scale>() { run<kNibbles, kGroup, Scale>(w, x, y, ldy, n_begin, n_end); });
}

}  // namespace paceline::kernels::neon::dotprod
