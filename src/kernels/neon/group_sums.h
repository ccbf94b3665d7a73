// The sums of a block of quantised weights with three or four row pairs, which hold half of the registers: instructions
// in the order in which they should run. Weights are loaded two chunks and unpacked one chunk before their products,
// rows right before them; a group's sums are scaled between the first products of the next group.
//
// Bound for q4 in groups of 64 and four pairs: 64 matrix instructions, 16 to unpack, 27 to scale, 49 loads; four vector
// operations a cycle are 27 cycles. A loop over the same bytes takes 33, for reasons that are not all known: matrix
// instructions alone run at four or at two a cycle, from call to call, by what their operands' registers are renamed
// to.
#pragma once

#include <arm_neon.h>

#include <cstdint>

#include "kernels/neon/in_order.h"
#include "kernels/neon/packed_format.h"

namespace paceline::kernels::neon {

// 16 columns of a block's four rows as operands of 8 columns by 2 outputs: [columns][outputs].
template <bool kNibbles>
struct Chunk {
  static constexpr int kBytes = kNibbles ? 32 : 64;
  static constexpr int kParts = 4;
  uint8x16_t operands[2][2];

  // Nibbles lie where their upper halves will be, until they are unpacked.
  [[gnu::always_inline]] void load(const uint8_t* w) {
    for (int i = kNibbles ? 2 : 0; i < 4; ++i)
      operands[i / 2][i % 2] = in_order::load<uint8x16_t>(w + (kNibbles ? i - 2 : i) * 16);
  }
  // A part of unpacking, all of them in ascending order.
  [[gnu::always_inline]] void unpack(int part) {
    if constexpr (kNibbles) {
      const int n = part % 2;
      if (part < 2)
        operands[0][n] = in_order::bits_of(operands[1][n], vdupq_n_u8(15));
      else
        operands[1][n] = in_order::upper_halves(operands[1][n]);
    }
  }
};

// MP row pairs, a tile as act.h lays it out.
template <bool kNibbles, int kGroup, int MP>
class GroupSums {
 public:
  // w: values of the first group of a block; q, scales: of the tile.
  [[gnu::always_inline]] GroupSums(const uint8_t* w, const int8_t* q, const float* scales) : q_(q), scales_(scales) {
    for (int m = 0; m < MP; ++m) sums_[m][0] = sums_[m][1] = vdupq_n_f32(0);
    chunks_[0].load(w);
    chunks_[1].load(w + kChunkBytes);
    for (int part = 0; part < Weights::kParts; ++part) chunks_[0].unpack(part);
  }

  // Multiplies the next group. w: its values; next: those of the group behind it, or any that may be read. before: the
  // scales of the group before it, unless it is the first.
  template <bool kFirst>
  [[gnu::always_inline]] void multiply(const uint8_t* w, const uint8_t* next, float32x4_t before = vdupq_n_f32(0)) {
    const float32x4_t s[2] = {vzip1q_f32(before, before), vzip2q_f32(before, before)};
#pragma GCC unroll 8
    for (int c = 0; c < kChunks; ++c) {
#pragma GCC unroll 2
      for (int o = 0; o < 2; ++o)
#pragma GCC unroll 4
        for (int m = 0; m < MP; ++m) {
          if (c == 0 && o == 0) {
            if constexpr (!kFirst) scale(m, s);
            for (int n = 0; n < 2; ++n) d_[m][n] = in_order::load<int32x4_t>(kMagicLanes);
          }
          const int8x16_t x = in_order::load<int8x16_t>(q_ + ((2 * c + o) * MP + m) * 16);
          for (int n = 0; n < 2; ++n) in_order::add_products(d_[m][n], chunks_[c % 2].operands[o][n], x);
          if (o == 0) continue;  // its operands are still read
          for (int part = m * Weights::kParts / MP; part < (m + 1) * Weights::kParts / MP; ++part)
            chunks_[(c + 1) % 2].unpack(part);
        }
      chunks_[c % 2].load(c + 2 < kChunks ? w + (c + 2) * kChunkBytes : next + (c + 2 - kChunks) * kChunkBytes);
    }
    q_ += 2 * kGroup * MP;
    if constexpr (!kFirst) scales_ += 4 * MP;
  }

  // Behind the last group: its scales, and the sums of all, [2][MP] tiles.
  [[gnu::always_inline]] void finish(float32x4_t last, float32x4_t (&out)[2][MP]) {
    const float32x4_t s[2] = {vzip1q_f32(last, last), vzip2q_f32(last, last)};
#pragma GCC unroll 4
    for (int m = 0; m < MP; ++m) {
      scale(m, s);
      for (int n = 0; n < 2; ++n) out[n][m] = sums_[m][n];
    }
  }

 private:
  using Weights = Chunk<kNibbles>;
  static constexpr int kChunkBytes = Weights::kBytes;
  static constexpr int kChunks = kGroup / 16;
  alignas(16) static constexpr int32_t kMagicLanes[4] = {kMagicBits, kMagicBits, kMagicBits, kMagicBits};

  [[gnu::always_inline]] void scale(int m, const float32x4_t (&s)[2]) {
    const float32x4_t a = in_order::load<float32x4_t>(scales_ + 4 * m), magic = vdupq_n_f32(kMagic);
    const float32x4_t scale[2] = {in_order::multiply(s[0], a), in_order::multiply(s[1], a)};
    float32x4_t d[2];
    for (int n = 0; n < 2; ++n) d[n] = in_order::subtract(vreinterpretq_f32_s32(d_[m][n]), magic);
    for (int n = 0; n < 2; ++n) in_order::multiply_add(sums_[m][n], d[n], scale[n]);
  }

  const int8_t* q_;
  const float* scales_;
  float32x4_t sums_[MP][2];
  int32x4_t d_[MP][2];
  Weights chunks_[2];
};

}  // namespace paceline::kernels::neon
