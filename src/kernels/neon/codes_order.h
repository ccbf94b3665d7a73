// Codes of a page on their way into products, for both tables.
#pragma once

#include <arm_neon.h>

#include "kernels/cpu_table.h"
#include "kernels/ops.h"

namespace paceline::kernels::neon {

inline constexpr int32_t kCodeStep = 16;  // codes of a vector

// What is wanted after this, a part for each part that is multiplied: all at once would wait for each other.
inline void fetch_line_pair(const void* ahead) {
  __builtin_prefetch(ahead, 0, 2);
  __builtin_prefetch(static_cast<const char*>(ahead) + 64, 0, 2);
}

// A page in pairs, in eights: 12 operations per 64 codes. kFlipped: bits that are turned over in each.
template <uint8_t kFlipped = 0>
inline void turn_to_eights(const CodeRows& w, int8_t* out) {
  alignas(16) static constexpr uint8_t kAlternate[16] = {0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15};
  const uint8x16_t alternate = vld1q_u8(kAlternate);
  const int8_t* ahead = w.ahead == nullptr ? w.codes : w.ahead;
  for (int32_t group = 0; group < kPageTokens / 8; ++group)
    for (int32_t k = 0; k < w.cols; k += 8) {
      int8_t* to = out + code_at(CodeOrder::eights, w.cols, 8 * group, k);
      if (k % 16 == 0) fetch_line_pair(ahead + 8 * group * w.stride + 8 * k);
      uint16x8_t two[4];  // of each column two tokens
#pragma GCC unroll 4
      for (int p = 0; p < 4; ++p)
        two[p] =
            vreinterpretq_u16_s8(vqtbl1q_s8(vld1q_s8(w.codes + (4 * group + p) * 2 * w.stride + 2 * k), alternate));
      const auto four = [](uint16x8_t v) { return vreinterpretq_u32_u16(v); };
      const uint32x4_t a0 = four(vzip1q_u16(two[0], two[1])), a1 = four(vzip2q_u16(two[0], two[1]));
      const uint32x4_t b0 = four(vzip1q_u16(two[2], two[3])), b1 = four(vzip2q_u16(two[2], two[3]));
      const auto keep = [&](int at, uint32x4_t v) {
        vst1q_s8(to + at * kCodeStep, veorq_s8(vreinterpretq_s8_u32(v), vdupq_n_s8(static_cast<int8_t>(kFlipped))));
      };
      keep(0, vzip1q_u32(a0, b0));
      keep(1, vzip2q_u32(a0, b0));
      keep(2, vzip1q_u32(a1, b1));
      keep(3, vzip2q_u32(a1, b1));
    }
}

}  // namespace paceline::kernels::neon
