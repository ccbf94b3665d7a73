// y [rows, N] = x [rows, K] · W [N, K]^T for W in blocks as blocks_layout.h lays it out, x as blocks_act.h does; for
// both NEON tables, which differ in the unit that multiplies.
//
// For one output n and row r, with D_g = Σ q_w q_x over group g, exact in int32, groups ascending:
//   p = fma(D_g, s[n,g] * a[r,g], p), then p = fma(l[n,g], a[r,g] Σ q_x, p) where there are least numbers l
// and where scales are products of a part's factor f and a small number, part by part:
//   t = fma(D_g * s[n,g], a[r,g], t);  p = fma(t, f, p)
// and with least numbers, likewise products, t = fma(l[n,g], a[r,g] Σ q_x, t);  p = p - t * f'
// No operation mixes outputs or rows, so every tile and both units give the same bits.
//
// Bound: with one row, per 32 columns of four outputs, 8 dot products and about 5 other operations, and 8 more to
// unpack nibbles (fives: 24): memory for bytes, the vector units for all others. With many rows the vector units: 4
// matrix instructions (or 16 dot products) per 2x2 tile and 32 columns, and 3 operations per tile and group.
//
// A slot is a pair of blocks_act.h, of two rows or of one that stands twice. A unit computes it against four outputs:
//   kSlotRows, kVectors             rows of a slot, and vectors of its results
//   dot(sum, w, x)                  w: 8 columns of two outputs
//   finish(first, second, out)      sums of outputs 0 and 1, 2 and 3 as vectors of results
//   spread(four, out)               numbers of four outputs as vectors of results have them
//   store(output, results, n, row)
#pragma once

#include <arm_neon.h>

#include "kernels/neon/blocks_act.h"
#include "kernels/neon/blocks_layout.h"
#include "tensor/blocks.h"

namespace paceline::kernels::neon {

struct BlocksOutput {
  float* y;
  int64_t ldy;
  int32_t rows;
  int32_t n_end;

  void store_row(float32x4_t four, int32_t n, int32_t row) const {
    float* at = y + static_cast<int64_t>(row) * ldy + n;
    if (n + kRowsOfBlock <= n_end) return vst1q_f32(at, four);
    float out[kRowsOfBlock];
    vst1q_f32(out, four);
    for (int i = 0; i < n_end - n; ++i) at[i] = out[i];
  }
};

// A row at a time. Table: whose, so that no code is shared by files compiled for different processors.
template <class Table>
struct DotRows {
  static constexpr int kSlotRows = 1, kVectors = 1;
  static int32x4_t dot(int32x4_t sum, int8x16_t w, int8x16_t x) { return vdotq_s32(sum, w, x); }
  static void finish(int32x4_t first, int32x4_t second, int32x4_t (&out)[1]) { out[0] = vpaddq_s32(first, second); }
  static void spread(float32x4_t four, float32x4_t (&out)[1]) { out[0] = four; }
  static void spread(int32x4_t four, int32x4_t (&out)[1]) { out[0] = four; }
  static void store(const BlocksOutput& output, const float32x4_t* results, int32_t n, int32_t row) {
    output.store_row(results[0], n, row);
  }
};

template <class Unit, WeightFormat kFormat>
struct BlockTiles {
  static constexpr BlocksLayout kLayout = blocks_layout(kFormat);
  static constexpr int V = Unit::kVectors;
  static constexpr int kGroups = kLayout.groups, kPieces = 4 / kGroups;  // of a step, of a group

  // What M slots read.
  struct Slots {
    const int8_t* q;
    const float *scales, *sums;
    int64_t pair_bytes, pair_scales;

    Slots(const BlocksAct& x, int32_t slot) : pair_bytes(int64_t{x.cols} * 2), pair_scales(int64_t{x.groups} * 4) {
      q = x.q + slot * pair_bytes;
      scales = x.scales + slot * pair_scales;
      sums = x.sums + slot * pair_scales;
    }
    [[gnu::always_inline]] int8x16_t operand(int m, int piece) const {
      return vld1q_s8(q + m * pair_bytes + 16 * piece);
    }
    [[gnu::always_inline]] float32x4_t scale(int m, int32_t g) const {
      return vld1q_f32(scales + m * pair_scales + 4 * g);
    }
    [[gnu::always_inline]] float32x4_t sum(int m, int32_t g) const { return vld1q_f32(sums + m * pair_scales + 4 * g); }
  };

  static constexpr size_t kAheadBytes = 2048;

  static int8x16_t signed_bytes(uint8x16_t v) { return vreinterpretq_s8_u8(v); }

  // 8 columns of outputs 0 and 1 (half 0), or 2 and 3.
  [[gnu::always_inline]] static inline int8x16_t codes(const uint8_t* step, int piece, int half) {
    if constexpr (kLayout.codes == Codes::bytes) return signed_bytes(vld1q_u8(step + 32 * piece + 16 * half));
    const uint8x16_t bytes = vld1q_u8(step + 32 * (piece % 2) + 16 * half);
    if constexpr (kLayout.codes == Codes::signed_nibbles)
      return signed_bytes(piece < 2 ? vshlq_n_u8(bytes, 4) : vandq_u8(bytes, vdupq_n_u8(0xf0)));
    const uint8x16_t nibbles = piece < 2 ? vandq_u8(bytes, vdupq_n_u8(15)) : vshrq_n_u8(bytes, 4);
    if constexpr (kLayout.codes == Codes::iq4_levels)
      return signed_bytes(veorq_u8(vqtbl1q_u8(vld1q_u8(kIq4Levels), nibbles), vdupq_n_u8(128)));
    if constexpr (kLayout.codes == Codes::fp4_levels)
      return signed_bytes(vqtbl1q_u8(vsubq_u8(vld1q_u8(kFp4Levels), vdupq_n_u8(12)), nibbles));
    if constexpr (kLayout.codes == Codes::fives || kLayout.codes == Codes::signed_fives) {
      const uint8x16_t bit = vdupq_n_u8(static_cast<uint8_t>(1 << (2 * piece + half)));
      const uint8x16_t top = vdupq_n_u8(kLayout.codes == Codes::fives ? 0x10 : 0xf0);
      return signed_bytes(vbslq_u8(top, vtstq_u8(vld1q_u8(step + 64), bit), nibbles));
    }
    return signed_bytes(nibbles);
  }

  // A zero of its own: copying one that a register has would cost half as much as a product.
  [[gnu::always_inline]] static inline int32x4_t zero() {
    int32x4_t made;
    asm volatile("movi %0.4s, #0" : "=w"(made));
    return made;
  }

  // D of group g of a step for M slots.
  template <int M>
  [[gnu::always_inline]] static inline void group_dots(const uint8_t* step, const Slots& x, int g,
                                                       int32x4_t (&out)[M][V]) {
    int32x4_t d[M][2];
#pragma GCC unroll 8
    for (int m = 0; m < M; ++m) d[m][0] = zero(), d[m][1] = zero();
#pragma GCC unroll 4
    for (int i = 0; i < kPieces; ++i) {
      // Both halves of nibbles, one behind the other.
      const int piece = kPieces == 4 ? i / 2 + 2 * (i % 2) : g * kPieces + i;
      const int8x16_t a = codes(step, piece, 0), b = codes(step, piece, 1);
#pragma GCC unroll 8
      for (int m = 0; m < M; ++m) {
        const int8x16_t xv = x.operand(m, piece);
        d[m][0] = Unit::dot(d[m][0], a, xv);
        d[m][1] = Unit::dot(d[m][1], b, xv);
      }
    }
#pragma GCC unroll 8
    for (int m = 0; m < M; ++m) Unit::finish(d[m][0], d[m][1], out[m]);
  }

  // Numbers of four outputs at `at`, in float16 or bf16.
  static float32x4_t floats(const uint8_t* at) {
    const uint16x4_t bits = vreinterpret_u16_u8(vld1_u8(at));
    if constexpr (kLayout.scales == Scales::bf16) return vreinterpretq_f32_u32(vshll_n_u16(bits, 16));
    return vcvt_f32_f16(vreinterpret_f16_u16(bits));
  }

  // Four small numbers.
  [[gnu::always_inline]] static inline int32x4_t small(const uint8_t* at) {
    constexpr uint8_t kNone = 255;
    constexpr uint8_t kLow[16] = {0, kNone, kNone, kNone, 1, kNone, kNone, kNone,
                                  2, kNone, kNone, kNone, 3, kNone, kNone, kNone};
    constexpr uint8_t kHigh[16] = {kNone, kNone, kNone, 0, kNone, kNone, kNone, 1,
                                   kNone, kNone, kNone, 2, kNone, kNone, kNone, 3};
    const uint8x16_t bytes = vcombine_u8(vld1_u8(at), vdup_n_u8(0));
    if constexpr (kLayout.scales == Scales::signed_products)
      return vshrq_n_s32(vreinterpretq_s32_u8(vqtbl1q_u8(bytes, vld1q_u8(kHigh))), 24);
    return vreinterpretq_s32_u8(vqtbl1q_u8(bytes, vld1q_u8(kLow)));
  }

  // With few rows weights come from memory, which bytes with plain scales keep busy by themselves.
  static constexpr bool kFetches = kLayout.in_products() || kLayout.codes != Codes::bytes;

  template <int M>
  [[gnu::always_inline]] static inline void fetch_ahead(const uint8_t* step) {
    if constexpr (kFetches && M * Unit::kSlotRows <= 4)
      for (size_t at = 0; at < kLayout.step_bytes(); at += 64) __builtin_prefetch(step + kAheadBytes + at);
  }

  // p += the steps of a part whose scales are numbers by themselves.
  template <int M>
  [[gnu::always_inline]] static inline void add_plain(const uint8_t* part, int32_t steps, Slots& x,
                                                      float32x4_t (&p)[M][V]) {
    const uint8_t* step = part + kLayout.header_bytes();
    for (int32_t i = 0; i < steps; ++i, step += kLayout.step_bytes(), advance(x)) {
      fetch_ahead<M>(step);
#pragma GCC unroll 2
      for (int g = 0; g < kGroups; ++g) {
        int32x4_t d[M][V];
        group_dots<M>(step, x, g, d);
        const uint8_t* at = part + (i * kGroups + g) * 8;
        float32x4_t s[V], least[V];
        Unit::spread(floats(at), s);
        if constexpr (kLayout.least) Unit::spread(floats(at + kLayout.scale_bytes()), least);
#pragma GCC unroll 8
        for (int m = 0; m < M; ++m) {
          const float32x4_t a = x.scale(m, g);
#pragma GCC unroll 2
          for (int v = 0; v < V; ++v) p[m][v] = vfmaq_f32(p[m][v], vcvtq_f32_s32(d[m][v]), vmulq_f32(s[v], a));
          if constexpr (kLayout.least)
#pragma GCC unroll 2
            for (int v = 0; v < V; ++v) p[m][v] = vfmaq_f32(p[m][v], least[v], x.sum(m, g));
        }
      }
    }
  }

  static void advance(Slots& x) {
    x.q += 2 * kStepColumns;
    x.scales += 4 * kGroups;
    x.sums += 4 * kGroups;
  }

  // p -= the least numbers of a part times the rows' sums.
  template <int M>
  [[gnu::always_inline]] static inline void subtract_least(const uint8_t* part, const Slots& x,
                                                           float32x4_t (&p)[M][V]) {
    const uint8_t* numbers = part + kLayout.factor_bytes() + kLayout.scale_bytes();
    float32x4_t t[M][V], factor[V];
#pragma GCC unroll 8
    for (int m = 0; m < M; ++m)
      for (int v = 0; v < V; ++v) t[m][v] = vdupq_n_f32(0);
#pragma GCC unroll 2
    for (int g = 0; g < kLayout.steps * kGroups; ++g) {
      float32x4_t least[V];
      Unit::spread(vcvtq_f32_s32(small(numbers + 4 * g)), least);
#pragma GCC unroll 8
      for (int m = 0; m < M; ++m)
#pragma GCC unroll 2
        for (int v = 0; v < V; ++v) t[m][v] = vfmaq_f32(t[m][v], least[v], x.sum(m, g));
    }
    Unit::spread(floats(part + 8), factor);
#pragma GCC unroll 8
    for (int m = 0; m < M; ++m)
      for (int v = 0; v < V; ++v) p[m][v] = vfmsq_f32(p[m][v], t[m][v], factor[v]);
  }

  // p += a part whose scales are products.
  template <int M>
  [[gnu::always_inline]] static inline void add_products(const uint8_t* part, Slots& x, float32x4_t (&p)[M][V]) {
    if constexpr (kLayout.least) subtract_least<M>(part, x, p);
    const uint8_t* numbers = part + kLayout.factor_bytes();
    float32x4_t t[M][V], factor[V];
#pragma GCC unroll 8
    for (int m = 0; m < M; ++m)
      for (int v = 0; v < V; ++v) t[m][v] = vdupq_n_f32(0);
    const uint8_t* step = part + kLayout.header_bytes();
    for (int32_t i = 0; i < kLayout.steps; ++i, step += kLayout.step_bytes(), advance(x)) {
      fetch_ahead<M>(step);
#pragma GCC unroll 2
      for (int g = 0; g < kGroups; ++g) {
        int32x4_t d[M][V], s[V];
        group_dots<M>(step, x, g, d);
        Unit::spread(small(numbers + (i * kGroups + g) * 4), s);
#pragma GCC unroll 8
        for (int m = 0; m < M; ++m) {
          const float32x4_t a = x.scale(m, g);
#pragma GCC unroll 2
          for (int v = 0; v < V; ++v) t[m][v] = vfmaq_f32(t[m][v], vcvtq_f32_s32(vmulq_s32(d[m][v], s[v])), a);
        }
      }
    }
    Unit::spread(floats(part), factor);
#pragma GCC unroll 8
    for (int m = 0; m < M; ++m)
      for (int v = 0; v < V; ++v) p[m][v] = vfmaq_f32(p[m][v], t[m][v], factor[v]);
  }

  // Four outputs against M slots. A function of its own, so that sums keep to the registers.
  template <int M>
  [[gnu::noinline]] static void tile(const uint8_t* w, const BlocksAct& act, int32_t slot, float32x4_t (&out)[M][V]) {
    Slots x(act, slot);
    float32x4_t p[M][V];
    for (int m = 0; m < M; ++m)
      for (int v = 0; v < V; ++v) p[m][v] = vdupq_n_f32(0);
    for (int32_t left = act.cols / kStepColumns; left > 0; left -= kLayout.steps) {
      const int32_t steps = left < kLayout.steps ? left : kLayout.steps;
      if constexpr (kLayout.in_products())
        add_products<M>(w, x, p);
      else
        add_plain<M>(w, steps, x, p);
      w += kLayout.header_bytes() + static_cast<size_t>(steps) * kLayout.step_bytes();
    }
    for (int m = 0; m < M; ++m)
      for (int v = 0; v < V; ++v) out[m][v] = vmulq_n_f32(p[m][v], 1.0f / kLayout.code_factor());
  }

  template <int M>
  static void run_tile(const uint8_t* w, const BlocksAct& x, int32_t slot, int32_t n, const BlocksOutput& output) {
    float32x4_t p[M][V];
    tile<M>(w, x, slot, p);
    for (int m = 0; m < M; ++m) Unit::store(output, p[m], n, (slot + m) * Unit::kSlotRows);
  }

  // Four outputs against slots [slot, end).
  static void pass(const uint8_t* w, const BlocksAct& x, int32_t slot, int32_t end, int32_t n,
                   const BlocksOutput& output) {
    constexpr int kMost = 8 / Unit::kSlotRows;
    while (end - slot >= kMost) run_tile<kMost>(w, x, slot, n, output), slot += kMost;
    if constexpr (kMost > 4)
      if (end - slot >= 4) run_tile<4>(w, x, slot, n, output), slot += 4;
    if (Unit::kSlotRows == 2 && end - slot == 3) return run_tile<3>(w, x, slot, n, output);
    if (end - slot >= 2) run_tile<2>(w, x, slot, n, output), slot += 2;
    if (end - slot == 1) run_tile<1>(w, x, slot, n, output);
  }

  // With many rows: so many of them stay in the first cache while so many outputs pass, which stay in the second.
  static constexpr int32_t kCachedRows = 8 * Unit::kSlotRows, kCachedOutputs = 128;

  static void run(const Matrix& w, const Act& act, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
    const BlocksAct x = blocks_act(act, Unit::kSlotRows);
    const BlocksOutput output{y, ldy, act.shape.rows, n_end};
    const size_t bytes = block_of_rows_bytes(w);
    const auto* blocks = static_cast<const uint8_t*>(w.values);
    constexpr int32_t kSlots = kCachedRows / Unit::kSlotRows;
    const int32_t slots = (act.shape.rows + Unit::kSlotRows - 1) / Unit::kSlotRows;
    for (int32_t first = n_begin; first < n_end; first += kCachedOutputs) {
      const int32_t last = first + kCachedOutputs < n_end ? first + kCachedOutputs : n_end;
      for (int32_t slot = 0; slot < slots; slot += kSlots) {
        const int32_t end = slot + kSlots < slots ? slot + kSlots : slots;
        for (int32_t n = first; n < last; n += kRowsOfBlock)
          pass(blocks + static_cast<size_t>(n / kRowsOfBlock) * bytes, x, slot, end, n, output);
      }
    }
  }
};

// Calls run.template operator()<format>().
template <class Run>
void with_blocks_format(WeightFormat format, const Run& run) {
  switch (format) {
    case WeightFormat::q4_0: return run.template operator()<WeightFormat::q4_0>();
    case WeightFormat::q4_1: return run.template operator()<WeightFormat::q4_1>();
    case WeightFormat::q5_0: return run.template operator()<WeightFormat::q5_0>();
    case WeightFormat::q5_1: return run.template operator()<WeightFormat::q5_1>();
    case WeightFormat::iq4_nl: return run.template operator()<WeightFormat::iq4_nl>();
    case WeightFormat::mxfp4: return run.template operator()<WeightFormat::mxfp4>();
    case WeightFormat::nvfp4:
    case WeightFormat::nvfp4_split: return run.template operator()<WeightFormat::nvfp4>();
    case WeightFormat::q2_k: return run.template operator()<WeightFormat::q2_k>();
    case WeightFormat::q3_k: return run.template operator()<WeightFormat::q3_k>();
    case WeightFormat::q4_k: return run.template operator()<WeightFormat::q4_k>();
    case WeightFormat::q5_k: return run.template operator()<WeightFormat::q5_k>();
    case WeightFormat::q6_k: return run.template operator()<WeightFormat::q6_k>();
    case WeightFormat::iq4_xs: return run.template operator()<WeightFormat::iq4_xs>();
    default: return run.template operator()<WeightFormat::q8_0>();
  }
}

}  // namespace paceline::kernels::neon
