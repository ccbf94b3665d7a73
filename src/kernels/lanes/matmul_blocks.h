// y [rows, N] = x [rows, K] · W [N, K]^T, W in blocks (tensor/blocks.h), x in 8 bits with a scale per row and group;
// for sets that keep one output in each lane.
//
// Layout: W as lanes/packed_blocks.h has the formats that people have most, else as in the file. There columns are
// turned chunk by chunk into what lanes/matmul_packed.h unpacks for many rows, and what is done with a chunk is done
// there: so is the order of all sums. A code is turned as it is, its zero being part of the group's bias, which is
// exact.
//
// Bound: with few rows the bytes of W, each read once. Formats that many files have unpack in registers; others are
// decoded row by row first, once for all rows of x, at a tenth of memory's speed.
//
// A set has, besides what matmul_packed.h wants,
//   put<kNibbles>(codes, out)            codes of four columns, one in a byte, as dots wants them
//   all, both, either, flip, up, down, down_signed   on lanes of 32 bits
//   times, look_up                       products of 32 bits, and levels by codes in bytes
//   offsets(rows), four_at(first, offsets)   four bytes of each row, in lanes
//   f16_low(Int)                         float32 of the lower half of each lane
#pragma once

#include <type_traits>

#include "kernels/lanes/matmul_packed.h"
#include "kernels/lanes/packed_blocks.h"
#include "tensor/blocks.h"

namespace paceline::kernels::lanes {

// Where the chunk's blocks lie, output by output.
template <class S>
struct BlockRows {
  const uint8_t* rows[S::V::kLanes];  // the chunk's first block of each
  typename S::Int offsets;            // from the first one's
  int64_t block_bytes = 0;
  int32_t blocks = 0;

  BlockRows(const Matrix& w, const PackedChunk<S>& chunk) {
    const BlockShape shape = block_shape(w.format);
    block_bytes = shape.bytes;
    blocks = chunk.groups * w.group / shape.elements;
    row_pointers(chunk, w.values, w.cols / shape.elements * block_bytes, rows);
    const int64_t first = int64_t{chunk.first_group} * w.group / shape.elements * block_bytes;
    for (const uint8_t*& row : rows) row += first;
    offsets = S::offsets(rows);
  }

  // Four bytes at `at` of each, in lanes.
  [[gnu::always_inline]] typename S::Int four(int64_t at) const { return S::four_at(rows[0] + at, offsets); }

  // Once for each line of the cache that block b ends.
  [[gnu::always_inline]] void fetch(int32_t b) const {
    const int64_t begin = b * block_bytes, end = begin + block_bytes;
    for (int64_t at = begin / 64 * 64 + 64; at <= end; at += 64)
      for (const uint8_t* row : rows) __builtin_prefetch(row + at + kFetchAheadBytes);
  }
};

// The codes of four columns; column: the chunk's.
template <class S, bool kNibbles>
[[gnu::always_inline]] inline void put_codes(PackedChunk<S>& chunk, int32_t column, typename S::Int codes) {
  S::template put<kNibbles>(codes, chunk.values + S::template packed_bytes<kNibbles>(column));
}

// A group's scale, and what its zero and its least number come to.
template <class S>
[[gnu::always_inline]] inline void put_scale(PackedChunk<S>& chunk, int32_t group, typename S::V::F scale,
                                             typename S::V::F bias) {
  S::V::store(chunk.scales + group * S::V::kLanes, scale);
  S::V::store(chunk.biases + group * S::V::kLanes, bias);
}

template <class S, bool kNibbles>
[[gnu::noinline]] void pack_any(const Matrix& w, PackedChunk<S>& chunk) {
  constexpr int kLanes = S::V::kLanes;
  const BlockShape shape = block_shape(w.format);
  const auto zero = static_cast<float>(block_zero(w.format));
  const BlockRows<S> from(w, chunk);
  const int32_t groups = shape.elements / shape.group, first_block = chunk.first_group / groups;
  DecodedBlock blocks[kLanes];
  const uint8_t* codes[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) codes[lane] = blocks[lane].codes;
  for (int32_t b = 0; b < from.blocks; ++b) {
    for (int lane = 0; lane < kLanes; ++lane) {
      DecodedBlock& block = blocks[lane];
      decode_block(w, chunk.n + (lane < chunk.outputs ? lane : chunk.outputs - 1), first_block + b, &block);
      for (int32_t g = 0; g < groups; ++g) {
        const int32_t at = (b * groups + g) * kLanes + lane;
        chunk.scales[at] = block.scales[g];
        chunk.biases[at] = block.biases[g] - zero * block.scales[g];
      }
    }
    for (int32_t k = 0; k < shape.elements; k += 16) {
      typename S::Int units[4];
      S::template turn<1>(codes, k, units);
      for (int u = 0; u < 4; ++u) put_codes<S, kNibbles>(chunk, b * shape.elements + k + 4 * u, units[u]);
    }
  }
}

template <class S>
[[gnu::noinline]] void pack_q8_0(const Matrix& w, PackedChunk<S>& chunk) {
  using V = typename S::V;
  const BlockRows<S> from(w, chunk);
  const auto sign = S::all(static_cast<int32_t>(0x80808080u));
  for (int32_t b = 0; b < from.blocks; ++b) {
    from.fetch(b);
    typename S::Int units[8];
    S::template turn<2>(from.rows, b * from.block_bytes + 2, units);
    for (int u = 0; u < 8; ++u) put_codes<S, false>(chunk, 32 * b + 4 * u, S::flip(units[u], sign));
    const auto scale = S::f16_low(from.four(b * from.block_bytes));
    put_scale<S>(chunk, b, scale, V::mul(scale, V::set1(-128.0f)));
  }
}

// Blocks b and b + 1 of Q4_0. Together they are nine whole words, of which the first has a scale in its lower half and
// the fifth in its upper one.
template <class S>
[[gnu::always_inline]] inline void put_two_q4_0(PackedChunk<S>& chunk, const BlockRows<S>& from, int32_t b) {
  using V = typename S::V;
  const auto low = S::all(0x0f0f0f0f);
  const auto zero = V::set1(-8.0f);
  const int64_t at = b * from.block_bytes;
  const auto put = [&](int32_t block, int u, typename S::Int nibbles) {
    put_codes<S, true>(chunk, 32 * block + 4 * u, S::both(nibbles, low));
    put_codes<S, true>(chunk, 32 * block + 16 + 4 * u, S::both(S::template down<4>(nibbles), low));
  };
  typename S::Int words[9];
  S::template turn<2>(from.rows, at, words);
  words[8] = from.four(at + 32);
  for (int u = 0; u < 4; ++u) {
    put(b, u, S::either(S::template down<16>(words[u]), S::template up<16>(words[u + 1])));
    put(b + 1, u, words[u + 5]);
  }
  const auto first = S::f16_low(words[0]), second = S::f16_low(S::template down<16>(words[4]));
  put_scale<S>(chunk, b, first, V::mul(first, zero));
  put_scale<S>(chunk, b + 1, second, V::mul(second, zero));
}

template <class S>
[[gnu::noinline]] void pack_q4_0(const Matrix& w, PackedChunk<S>& chunk) {
  using V = typename S::V;
  const BlockRows<S> from(w, chunk);
  const auto low = S::all(0x0f0f0f0f);
  int32_t b = 0;
  for (; b + 2 <= from.blocks; b += 2) {
    from.fetch(b);
    from.fetch(b + 1);
    put_two_q4_0<S>(chunk, from, b);
  }
  if (b == from.blocks) return;
  typename S::Int units[4];
  S::template turn<1>(from.rows, b * from.block_bytes + 2, units);
  for (int u = 0; u < 4; ++u) {
    put_codes<S, true>(chunk, 32 * b + 4 * u, S::both(units[u], low));
    put_codes<S, true>(chunk, 32 * b + 16 + 4 * u, S::both(S::template down<4>(units[u]), low));
  }
  const auto scale = S::f16_low(from.four(b * from.block_bytes));
  put_scale<S>(chunk, b, scale, V::mul(scale, V::set1(-8.0f)));
}

// Blocks of 32 that begin with a scale, then perhaps a least number, and end with 16 bytes of nibbles.
//   kFifths: fifth bits lie before the nibbles; levels: what codes stand for, or none
template <class S, bool kLeast, bool kFifths, bool kLevels>
[[gnu::noinline]] void pack_nibbles(const Matrix& w, PackedChunk<S>& chunk) {
  using V = typename S::V;
  constexpr bool kNibbles = !kFifths && !kLevels;
  const BlockRows<S> from(w, chunk);
  const auto low = S::all(0x0f0f0f0f), ones = S::all(0x01010101), spread = S::all(0x00204081), four = S::all(15);
  const auto zero = V::set1(-static_cast<float>(block_zero(w.format)));
  for (int32_t b = 0; b < from.blocks; ++b) {
    from.fetch(b);
    const int64_t block = b * from.block_bytes, nibbles = block + from.block_bytes - 16;
    typename S::Int units[4];
    S::template turn<1>(from.rows, nibbles, units);
    typename S::Int fifths{};
    if constexpr (kFifths) fifths = from.four(nibbles - 4);
    const auto put = [&](int32_t column, typename S::Int codes) {
      if constexpr (kFifths) {
        // Bits 0 … 3 to bytes 0 … 3.
        const auto bits = S::both(S::times(S::both(fifths, four), spread), ones);
        codes = S::either(codes, S::template up<4>(bits));
        fifths = S::template down<4>(fifths);
      }
      if constexpr (kLevels) codes = S::look_up(kIq4Levels, codes);
      put_codes<S, kNibbles>(chunk, 32 * b + column, codes);
    };
    for (int u = 0; u < 4; ++u) put(4 * u, S::both(units[u], low));
    for (int u = 0; u < 4; ++u) put(16 + 4 * u, S::both(S::template down<4>(units[u]), low));
    const auto head = from.four(block);
    const auto scale = S::f16_low(head);
    put_scale<S>(chunk, b, scale, kLeast ? S::f16_low(S::template down<16>(head)) : V::mul(scale, zero));
  }
}

// Groups i and i + 4 of a block of Q4_K or Q5_K. head: its first 16 bytes, turned; i: 0 … 3.
template <class S, int i>
[[gnu::always_inline]] inline void put_scales_k(PackedChunk<S>& chunk, int32_t first_group,
                                                const typename S::Int (&head)[4], typename S::V::F d,
                                                typename S::V::F dmin) {
  using V = typename S::V;
  const auto six = S::all(63), four = S::all(15), top = S::all(48);
  const auto scales = S::template down<8 * i>(head[1]), least = S::template down<8 * i>(head[2]);
  const auto rest = S::template down<8 * i>(head[3]);
  const auto put = [&](int32_t group, typename S::Int scale, typename S::Int minimum) {
    put_scale<S>(chunk, first_group + group, V::mul(d, S::to_float(scale)), V::mul(dmin, S::to_float(minimum)));
  };
  put(i, S::both(scales, six), S::both(least, six));
  put(i + 4, S::either(S::both(rest, four), S::both(S::template down<2>(scales), top)),
      S::either(S::both(S::template down<4>(rest), four), S::both(S::template down<2>(least), top)));
}

template <class S>
[[gnu::always_inline]] inline void put_head_k(PackedChunk<S>& chunk, const BlockRows<S>& from, int32_t b) {
  using V = typename S::V;
  typename S::Int head[4];
  S::template turn<1>(from.rows, b * from.block_bytes, head);
  const auto d = S::f16_low(head[0]);
  const auto dmin = V::mul(S::f16_low(S::template down<16>(head[0])), V::set1(-1.0f));
  put_scales_k<S, 0>(chunk, 8 * b, head, d, dmin);
  put_scales_k<S, 1>(chunk, 8 * b, head, d, dmin);
  put_scales_k<S, 2>(chunk, 8 * b, head, d, dmin);
  put_scales_k<S, 3>(chunk, 8 * b, head, d, dmin);
}

template <class S>
[[gnu::noinline]] void pack_q4_k(const Matrix& w, PackedChunk<S>& chunk) {
  const BlockRows<S> from(w, chunk);
  const auto low = S::all(0x0f0f0f0f);
  for (int32_t b = 0; b < from.blocks; ++b) {
    const int64_t block = b * from.block_bytes;
    from.fetch(b);
    put_head_k<S>(chunk, from, b);
    for (int part = 0; part < 4; ++part) {
      typename S::Int units[8];
      S::template turn<2>(from.rows, block + 16 + 32 * part, units);
      const int32_t column = 256 * b + 64 * part;
      for (int u = 0; u < 8; ++u) {
        put_codes<S, true>(chunk, column + 4 * u, S::both(units[u], low));
        put_codes<S, true>(chunk, column + 32 + 4 * u, S::both(S::template down<4>(units[u]), low));
      }
    }
  }
}

// Bits from kFrom on in each byte, brought to kTo. What bytes lose to their neighbours is for a mask to take away.
template <class S, int kFrom, int kTo>
[[gnu::always_inline]] inline typename S::Int moved(typename S::Int v) {
  if constexpr (kFrom < kTo)
    return S::template up<kTo - kFrom>(v);
  else
    return S::template down<kFrom - kTo>(v);
}

// Groups 2 * part and 2 * part + 1 of a block of Q5_K; fifth: all the fifth bits, turned.
template <class S, int part>
[[gnu::always_inline]] inline void put_part_q5_k(PackedChunk<S>& chunk, const BlockRows<S>& from, int32_t b,
                                                 const typename S::Int (&fifth)[8]) {
  const auto low = S::all(0x0f0f0f0f), bit = S::all(0x10101010);
  typename S::Int units[8];
  S::template turn<2>(from.rows, b * from.block_bytes + 48 + 32 * part, units);
  const int32_t column = 256 * b + 64 * part;
  for (int u = 0; u < 8; ++u) {
    const auto first = S::both(moved<S, 2 * part, 4>(fifth[u]), bit);
    const auto second = S::both(moved<S, 2 * part + 1, 4>(fifth[u]), bit);
    put_codes<S, false>(chunk, column + 4 * u, S::either(S::both(units[u], low), first));
    put_codes<S, false>(chunk, column + 32 + 4 * u, S::either(S::both(S::template down<4>(units[u]), low), second));
  }
}

template <class S>
[[gnu::noinline]] void pack_q5_k(const Matrix& w, PackedChunk<S>& chunk) {
  const BlockRows<S> from(w, chunk);
  for (int32_t b = 0; b < from.blocks; ++b) {
    const int64_t block = b * from.block_bytes;
    from.fetch(b);
    put_head_k<S>(chunk, from, b);
    typename S::Int fifth[8];
    S::template turn<2>(from.rows, block + 16, fifth);
    put_part_q5_k<S, 0>(chunk, from, b, fifth);
    put_part_q5_k<S, 1>(chunk, from, b, fifth);
    put_part_q5_k<S, 2>(chunk, from, b, fifth);
    put_part_q5_k<S, 3>(chunk, from, b, fifth);
  }
}

// Groups 4 * u … 4 * u + 3 of a block of Q6_K.
template <class S, int u>
[[gnu::always_inline]] inline void put_scales_q6_k(PackedChunk<S>& chunk, int32_t first_group, typename S::Int scales,
                                                   typename S::V::F d) {
  using V = typename S::V;
  const auto put = [&](int32_t group, typename S::Int last) {
    const auto scale = V::mul(d, S::to_float(S::template down_signed<24>(last)));
    put_scale<S>(chunk, first_group + 4 * u + group, scale, V::mul(scale, V::set1(-32.0f)));
  };
  put(0, S::template up<24>(scales));
  put(1, S::template up<16>(scales));
  put(2, S::template up<8>(scales));
  put(3, scales);
}

// Half p of a block of Q6_K: 128 columns, of which two and two share the bytes of their lower bits, and all four parts
// those of their upper ones.
template <class S>
[[gnu::always_inline]] inline void put_half_q6_k(PackedChunk<S>& chunk, const BlockRows<S>& from, int64_t block,
                                                 int32_t column, int p) {
  const auto low = S::all(0x0f0f0f0f), top = S::all(0x30303030);
  for (int at = 0; at < 32; at += 16) {
    typename S::Int first[4], second[4], upper[4];
    S::template turn<1>(from.rows, block + 64 * p + at, first);
    S::template turn<1>(from.rows, block + 64 * p + 32 + at, second);
    S::template turn<1>(from.rows, block + 128 + 32 * p + at, upper);
    for (int u = 0; u < 4; ++u) {
      const auto put = [&](int part, typename S::Int lower, typename S::Int two) {
        put_codes<S, false>(chunk, column + 32 * part + at + 4 * u, S::either(S::both(lower, low), S::both(two, top)));
      };
      put(0, first[u], S::template up<4>(upper[u]));
      put(1, second[u], S::template up<2>(upper[u]));
      put(2, S::template down<4>(first[u]), upper[u]);
      put(3, S::template down<4>(second[u]), S::template down<2>(upper[u]));
    }
  }
}

template <class S>
[[gnu::noinline]] void pack_q6_k(const Matrix& w, PackedChunk<S>& chunk) {
  const BlockRows<S> from(w, chunk);
  for (int32_t b = 0; b < from.blocks; ++b) {
    const int64_t block = b * from.block_bytes;
    from.fetch(b);
    typename S::Int scales[4];
    S::template turn<1>(from.rows, block + 192, scales);
    // Its scale is the last of a block.
    const auto scale = S::f16_low(S::template down<16>(from.four(block + 206)));
    put_scales_q6_k<S, 0>(chunk, 16 * b, scales[0], scale);
    put_scales_q6_k<S, 1>(chunk, 16 * b, scales[1], scale);
    put_scales_q6_k<S, 2>(chunk, 16 * b, scales[2], scale);
    put_scales_q6_k<S, 3>(chunk, 16 * b, scales[3], scale);
    put_half_q6_k<S>(chunk, from, block, 256 * b, 0);
    put_half_q6_k<S>(chunk, from, block, 256 * b + 128, 1);
  }
}

template <class S>
[[gnu::noinline]] void pack_iq4_xs(const Matrix& w, PackedChunk<S>& chunk) {
  using V = typename S::V;
  const BlockRows<S> from(w, chunk);
  const auto low = S::all(0x0f0f0f0f), four = S::all(15), two = S::all(3);
  for (int32_t b = 0; b < from.blocks; ++b) {
    const int64_t block = b * from.block_bytes;
    from.fetch(b);
    auto head = from.four(block), lower = from.four(block + 4);
    const auto d = S::f16_low(head);
    auto upper = S::template down<16>(head);
    for (int i = 0; i < 8; ++i) {
      const auto six = S::either(S::both(lower, four), S::template up<4>(S::both(upper, two)));
      const auto scale = V::mul(d, V::sub(S::to_float(six), V::set1(32.0f)));
      put_scale<S>(chunk, 8 * b + i, scale, V::mul(scale, V::set1(-128.0f)));
      lower = S::template down<4>(lower);
      upper = S::template down<2>(upper);
      typename S::Int units[4];
      S::template turn<1>(from.rows, block + 8 + 16 * i, units);
      const int32_t column = 256 * b + 32 * i;
      for (int u = 0; u < 4; ++u) {
        put_codes<S, false>(chunk, column + 4 * u, S::look_up(kIq4Levels, S::both(units[u], low)));
        put_codes<S, false>(chunk, column + 16 + 4 * u,
                            S::look_up(kIq4Levels, S::both(S::template down<4>(units[u]), low)));
      }
    }
  }
}

// Weights of a part in a packed matrix: what lanes/matmul_packed.h has for those in affine groups.
template <class S, WeightFormat kFormat, bool kFetches>
struct PackedBlocksPart {
  using V = typename S::V;
  static constexpr int kLanes = V::kLanes;
  static constexpr bool kNibbles = has_nibbles(kFormat);
  static constexpr int32_t group = block_shape(kFormat).group, kGroups = part_groups(kFormat);
  static constexpr size_t kPartBytes = part_bytes(kFormat, kLanes), kHeader = block_header_bytes(kFormat, kLanes);
  static constexpr size_t kValueBytes = part_value_bytes(kFormat, kLanes) / kGroups;
  const uint8_t* first;
  int32_t first_group;

  PackedBlocksPart(const Matrix& w, const OutputPart& part)
      : first(static_cast<const uint8_t*>(w.values) +
              static_cast<size_t>(part.n / kLanes) * static_cast<size_t>(w.cols / (kGroups * group)) * kPartBytes),
        first_group(part.first_group) {}

  [[nodiscard]] const uint8_t* header(int32_t g) const {
    return first + static_cast<size_t>((first_group + g) / kGroups) * kPartBytes;
  }
  // The group's place in its part.
  [[nodiscard]] int32_t place(int32_t g) const { return (first_group + g) % kGroups; }
  [[nodiscard]] const uint8_t* values(int32_t g) const {
    return header(g) + kHeader + static_cast<size_t>(place(g)) * kValueBytes;
  }
  void unpack_values(int32_t g, uint8_t* out) const { unpack<S, kNibbles>(values(g), kValueBytes, out); }

  auto scales(int32_t g) const {
    if constexpr (!has_products(kFormat))
      return halves(header(g), place(g));
    else if constexpr (kFormat == WeightFormat::q6_k)
      return V::mul(halves(header(g), 0), S::signed_to_float(numbers(g)));
    else
      return V::mul(halves(header(g), 0), S::bytes_to_float(numbers(g)));
  }
  auto biases(int32_t g) const {
    if constexpr (!has_least(kFormat))
      return V::mul(scales(g), V::set1(-static_cast<float>(block_zero(kFormat))));
    else if constexpr (!has_products(kFormat))
      return halves(header(g), kGroups + place(g));
    else
      return V::mul(V::mul(halves(header(g), 1), V::set1(-1.0f)), S::bytes_to_float(numbers(g) + kGroups * kLanes));
  }
  template <int MR>
  [[gnu::always_inline]] void dots(int32_t g, const int8_t* x, int64_t stride, typename S::Int (&d)[MR]) const {
    S::template dots_packed<kNibbles, MR, group, kFetches>(values(g), x, stride, group, d);
  }

 private:
  static auto halves(const uint8_t* p, int32_t i) {
    return V::load_f16(reinterpret_cast<const uint16_t*>(p) + i * kLanes);
  }
  // Where scales are products.
  [[nodiscard]] const uint8_t* numbers(int32_t g) const { return header(g) + 4 * kLanes + place(g) * kLanes; }
};

template <class S, WeightFormat kFormat>
void matmul_packed_blocks(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  if (x.shape.rows >= kManyRows)
    return matmul_chunks<S, has_nibbles(kFormat), block_shape(kFormat).group>(
        w, x, y, ldy, n_begin, n_end, [&](PackedChunk<S>& chunk) {
          unpack_part<S, has_nibbles(kFormat)>(PackedBlocksPart<S, kFormat, false>(w, chunk), chunk);
        });
  for_parts<S>(w, x.shape.rows, n_begin, n_end, w.cols / w.group, [&](const OutputPart& part) {
    add_part<S>(PackedBlocksPart<S, kFormat, true>(w, part), part, x, y, ldy);
  });
}

template <class S>
void matmul_blocks(const Matrix& w, const Act& x, float* y, int64_t ldy, int32_t n_begin, int32_t n_end) {
  using Chunk = PackedChunk<S>;
  if (w.packed) {
    switch (w.format) {
      case WeightFormat::q8_0: return matmul_packed_blocks<S, WeightFormat::q8_0>(w, x, y, ldy, n_begin, n_end);
      case WeightFormat::q4_0: return matmul_packed_blocks<S, WeightFormat::q4_0>(w, x, y, ldy, n_begin, n_end);
      case WeightFormat::q4_1: return matmul_packed_blocks<S, WeightFormat::q4_1>(w, x, y, ldy, n_begin, n_end);
      case WeightFormat::q4_k: return matmul_packed_blocks<S, WeightFormat::q4_k>(w, x, y, ldy, n_begin, n_end);
      default: return matmul_packed_blocks<S, WeightFormat::q6_k>(w, x, y, ldy, n_begin, n_end);
    }
  }
  const auto run = [&](auto nibbles, auto step, auto pack) {
    matmul_chunks<S, nibbles.value, step.value>(w, x, y, ldy, n_begin, n_end, [&](Chunk& chunk) { pack(w, chunk); });
  };
  constexpr std::true_type kNibbles;
  constexpr std::false_type kBytes;
  constexpr std::integral_constant<int, 16> kSixteen;
  constexpr std::integral_constant<int, 32> kAll;
  switch (w.format) {
    case WeightFormat::q8_0: return run(kBytes, kAll, pack_q8_0<S>);
    case WeightFormat::q4_0: return run(kNibbles, kAll, pack_q4_0<S>);
    case WeightFormat::q4_1: return run(kNibbles, kAll, pack_nibbles<S, true, false, false>);
    case WeightFormat::q5_0: return run(kBytes, kAll, pack_nibbles<S, false, true, false>);
    case WeightFormat::q5_1: return run(kBytes, kAll, pack_nibbles<S, true, true, false>);
    case WeightFormat::iq4_nl: return run(kBytes, kAll, pack_nibbles<S, false, false, true>);
    case WeightFormat::iq4_xs: return run(kBytes, kAll, pack_iq4_xs<S>);
    case WeightFormat::q4_k: return run(kNibbles, kAll, pack_q4_k<S>);
    case WeightFormat::q5_k: return run(kBytes, kAll, pack_q5_k<S>);
    case WeightFormat::q6_k: return run(kBytes, kSixteen, pack_q6_k<S>);
    case WeightFormat::q2_k:
    case WeightFormat::q3_k: return run(kNibbles, kSixteen, pack_any<S, true>);
    case WeightFormat::nvfp4:
    case WeightFormat::nvfp4_split: return run(kBytes, kSixteen, pack_any<S, false>);
    default: return run(kBytes, kAll, pack_any<S, false>);
  }
}

}  // namespace paceline::kernels::lanes
