// What attention's products by tiles of AMX share, with pages of bf16 and of codes: squares that are turned, tiles by
// number.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "kernels/avx512/tiles.h"
#include "kernels/avx512/turn.h"
#include "kernels/cpu_products.h"
#include "kernels/lanes/ahead.h"

namespace paceline::kernels::avx512 {

using lanes::Ahead;

// A tile of results, and queries at a time.
inline constexpr int32_t kSide = kTileRows;

// f.operator()<0>() … <kCount - 1>(): tiles' numbers are part of their instructions.
template <int... kI, class F>
[[gnu::always_inline]] inline void each_of(std::integer_sequence<int, kI...>, F f) {
  (f.template operator()<kI>(), ...);
}
template <int kCount, class F>
[[gnu::always_inline]] inline void times(F f) {
  each_of(std::make_integer_sequence<int, kCount>{}, f);
}

// 16 rows of 16 units of four bytes turned; the first `count` of what becomes of them are kept.
[[gnu::always_inline]] inline void turn_square(const void* const (&rows)[kSide], int32_t count, void* to,
                                               int64_t stride_bytes) {
  __m512i units[kSide];
  turn_rows<4>(reinterpret_cast<const uint8_t* const*>(rows), 0, units);
#pragma GCC unroll 16
  for (int32_t i = 0; i < kSide; ++i)
    if (i < count) _mm512_storeu_si512(static_cast<char*>(to) + i * stride_bytes, units[i]);
}

// A tile's rows of units, [token or number][query], to rows of queries.
inline void turn_back(const void* square, int32_t count, float* to, int64_t stride) {
  const void* rows[kSide];
  for (int32_t i = 0; i < kSide; ++i) rows[i] = static_cast<const char*>(square) + i * kTileBytes;
  turn_square(rows, count, to, stride * 4);
}

// 64 bytes of each of `count` rows as a tile of columns; rows that there are not are zeros.
inline void turn_rows_of(const void* first, int64_t stride_bytes, int32_t count, void* to) {
  alignas(64) static constexpr char kNone[kTileBytes] = {};
  const void* rows[kSide];
  for (int32_t i = 0; i < kSide; ++i) rows[i] = i < count ? static_cast<const char*>(first) + i * stride_bytes : kNone;
  turn_square(rows, kSide, to, kTileBytes);
}

// Parts of a block of memory, one after the other; without memory only what they take.
class Parts {
 public:
  explicit Parts(void* memory) : memory_(static_cast<char*>(memory)) {}
  template <class T>
  void take(T*& pointer, size_t count) {
    pointer = memory_ == nullptr ? nullptr : reinterpret_cast<T*>(memory_ + used_);
    used_ += in_lines(count * sizeof(T));
  }
  [[nodiscard]] size_t used() const { return used_; }

 private:
  char* memory_;
  size_t used_ = 0;
};

// Queries of a walk in tiles of 16.
struct QueryTiles {
  int32_t queries = 0;

  [[nodiscard]] int32_t tiles() const { return (queries + kSide - 1) / kSide; }
  [[nodiscard]] int32_t count(int32_t tile) const { return std::min(kSide, queries - tile * kSide); }
};

}  // namespace paceline::kernels::avx512
