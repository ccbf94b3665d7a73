// Rearranging matrices in blocks as blocks_layout.h says, and reading them back. Bound by decoding the file's blocks,
// row by row: once, at load.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/lanes/matmul_scaled.h"
#include "kernels/lanes/packed.h"
#include "kernels/lanes/units.h"
#include "kernels/portable/matmul.h"
#include "tensor/blocks.h"

namespace paceline::kernels::lanes {

// As CpuTable's.
template <int kLanes>
size_t packed_block_bytes(const Matrix& w) {
  if (w.packed) return 0;
  return static_cast<size_t>((w.rows + kLanes - 1) / kLanes) *
         block_of_rows_bytes(blocks_layout(w.format), w.cols, kLanes);
}

// Codes by the levels that they stand for.
struct CodesByLevel {
  uint8_t codes[256] = {};
  constexpr explicit CodesByLevel(const uint8_t (&levels)[16]) {
    // Of a level that there is twice, the first.
    for (int i = 15; i >= 0; --i) codes[levels[i]] = static_cast<uint8_t>(i);
  }
};

// Half of what a byte of E4M3 stands for. V and S, here and below, so that no code is shared by files compiled for
// different processors.
template <class V>
float half_e4m3(uint8_t v) {
  const auto half = static_cast<uint16_t>((v & 0x7f) << 7 | (v & 0x80) << 8);
  return f16_to_f32(half) * 128.0f;
}

// A row's numbers of a part, as they will lie.
template <class S>
struct RowOfPart {
  uint8_t codes[kMostBlockElements] = {};
  BlockProducts products;
  uint16_t scales[4] = {}, least[2] = {};
};

// Scales of block b of a row, which lies there; the first of them is the part's `group`.
template <class S>
void read_scales(const Matrix& w, const uint8_t* at, int32_t row, int32_t b, int32_t group, const DecodedBlock& decoded,
                 RowOfPart<S>* out) {
  if (has_products(w.format)) return read_products(w.format, at, &out->products);
  switch (w.format) {
    case WeightFormat::mxfp4: out->scales[group] = f32_to_bf16(decoded.scales[0]); return;
    case WeightFormat::nvfp4:
      // Without a sign; the one that is no number reads 0.
      for (int i = 0; i < 4; ++i) out->scales[group + i] = (at[i] & 0x7f) == 0x7f ? 0 : at[i] & 0x7f;
      return;
    case WeightFormat::nvfp4_split: {
      const auto* scales = static_cast<const uint8_t*>(w.scales) + static_cast<size_t>(row) * w.row_scale_bytes();
      for (int i = 0; i < 2; ++i) out->scales[group + i] = scales[2 * b + i];
      return;
    }
    default: break;
  }
  std::memcpy(out->scales + group, at, sizeof(uint16_t));
  if (blocks_layout(w.format).least) std::memcpy(out->least + group, at + 2, sizeof(uint16_t));
}

// The file's blocks that make up a part.
template <class S>
struct BlocksOfPart {
  BlockShape shape;
  Codes codes;
  int32_t groups, count, first, end;
  size_t row_bytes;

  BlocksOfPart(const Matrix& w, const BlocksLayout& layout, int32_t part)
      : shape(block_shape(w.format)),
        codes(layout.codes),
        groups(shape.elements / shape.group),
        count(layout.columns() / shape.elements),
        first(part * count),
        end(first + count < w.cols / shape.elements ? first + count : w.cols / shape.elements),
        row_bytes(w.row_value_bytes()) {}
};

// How far ahead a row's bytes are asked for: a block of rows is read from as many places as there are lanes.
inline constexpr size_t kAheadOfRow = 512;

// out: of another part, or new; nothing where the part has more columns than the row.
template <class S>
void read_row(const Matrix& w, const BlocksOfPart<S>& part, int32_t row, RowOfPart<S>* out) {
  static constexpr CodesByLevel kIq4(kIq4Levels), kFp4(kFp4Levels);
  const BlockShape shape = part.shape;
  if (part.end - part.first < part.count) *out = {};
  for (int32_t b = part.first; b < part.end; ++b) {
    const uint8_t* const at = static_cast<const uint8_t*>(w.values) + static_cast<size_t>(row) * part.row_bytes +
                              static_cast<size_t>(b) * static_cast<size_t>(shape.bytes);
    __builtin_prefetch(at + kAheadOfRow);
    DecodedBlock decoded;
    if (w.format == WeightFormat::nvfp4_split)
      decode_block(w, row, b, &decoded);
    else
      decode_block(w.format, at, &decoded);
    const int32_t column = (b - part.first) * shape.elements;
    read_scales<S>(w, at, row, b, (b - part.first) * part.groups, decoded, out);
    if (!has_levels(part.codes)) {
      // Of a size that the compiler knows.
      if (shape.elements == 32)
        std::memcpy(out->codes + column, decoded.codes, 32);
      else
        std::memcpy(out->codes, decoded.codes, kMostBlockElements);
      continue;
    }
    const uint8_t* const by_level = part.codes == Codes::iq4_levels ? kIq4.codes : kFp4.codes;
    for (int32_t k = 0; k < shape.elements; ++k) out->codes[column + k] = by_level[decoded.codes[k]];
  }
}

template <class S>
uint8_t* put_block_header(const BlocksLayout& layout, const RowOfPart<S> (&rows)[S::V::kLanes], uint8_t* out) {
  const auto put = [&](size_t bytes, auto number_of) {
    for (const RowOfPart<S>& row : rows) {
      const auto number = number_of(row);
      std::memcpy(out, &number, bytes);
      out += bytes;
    }
  };
  const size_t bytes = layout.scale_bytes();
  if (layout.in_products()) {
    put(2, [](const RowOfPart<S>& row) { return row.products.factor; });
    put(2, [](const RowOfPart<S>& row) { return row.products.least_factor; });
    for (int32_t g = 0; g < layout.groups; ++g) put(1, [g](const RowOfPart<S>& row) { return row.products.scales[g]; });
    for (int32_t g = 0; layout.least && g < layout.groups; ++g)
      put(1, [g](const RowOfPart<S>& row) { return row.products.least[g]; });
    return out;
  }
  for (int32_t g = 0; g < layout.groups; ++g) put(bytes, [g](const RowOfPart<S>& row) { return row.scales[g]; });
  for (int32_t g = 0; layout.least && g < layout.groups; ++g)
    put(bytes, [g](const RowOfPart<S>& row) { return row.least[g]; });
  return out;
}

// A run of units, put together as they lie.
template <class S, Codes kCodes>
uint8_t* put_run(const typename S::Int (&units)[run_units(kCodes)], uint8_t* out) {
  constexpr int kLow = low_bits(kCodes), kHigh = high_bits(kCodes), kOfVector = 8 / kLow;
  typename S::Int low{}, high{};
  repeat<0, run_units(kCodes)>([&]<int u>() {
    if constexpr (u % kOfVector == 0) low = S::all(0);
    constexpr int kAt = u % kOfVector * kLow;
    low = S::either(low, S::both(moved<S, 0, kAt>(units[u]), S::all(byte_mask(kAt, kLow))));
    if constexpr (u % kOfVector == kOfVector - 1) out = S::append(low, out);
    if constexpr (kHigh > 0)
      high = S::either(high, S::both(moved<S, kLow, u * kHigh>(units[u]), S::all(byte_mask(u * kHigh, kHigh))));
  });
  return kHigh > 0 ? S::append(high, out) : out;
}

// codes: of each row, `columns` of them.
template <class S, Codes kCodes>
uint8_t* put_values(const uint8_t* const* codes, int32_t columns, uint8_t* out) {
  constexpr int kUnits = run_units(kCodes), kTurned = kUnits < 4 ? 4 : kUnits;
  for (int32_t k = 0; k < columns; k += 4 * kTurned) {
    typename S::Int turned[kTurned];
    repeat<0, kTurned / 4>([&]<int i>() { S::turn(codes, k + 16 * i, turned + 4 * i); });
    for (int first = 0; first < kTurned; first += kUnits) {
      typename S::Int units[kUnits];
      for (int u = 0; u < kUnits; ++u) units[u] = turned[first + u];
      out = put_run<S, kCodes>(units, out);
    }
  }
  return out;
}

template <class S>
uint8_t* put_values(const BlocksLayout& layout, const uint8_t* const* codes, uint8_t* out) {
  const int32_t columns = layout.columns();
  switch (layout.codes) {
    case Codes::bytes: return put_values<S, Codes::bytes>(codes, columns, out);
    case Codes::fives: return put_values<S, Codes::fives>(codes, columns, out);
    case Codes::sixes: return put_values<S, Codes::sixes>(codes, columns, out);
    case Codes::twos: return put_values<S, Codes::twos>(codes, columns, out);
    case Codes::threes: return put_values<S, Codes::threes>(codes, columns, out);
    default: return put_values<S, Codes::nibbles>(codes, columns, out);
  }
}

// As CpuTable's.
template <class S>
void pack_blocks(const Matrix& w, void* out, int32_t block_begin, int32_t block_end) {
  constexpr int kLanes = S::V::kLanes;
  const BlocksLayout layout = blocks_layout(w.format);
  auto* to =
      static_cast<uint8_t*>(out) + static_cast<size_t>(block_begin) * block_of_rows_bytes(layout, w.cols, kLanes);
  RowOfPart<S> rows[kLanes];
  const uint8_t* codes[kLanes];
  for (int i = 0; i < kLanes; ++i) codes[i] = rows[i].codes;
  for (int32_t block = block_begin; block < block_end; ++block)
    for (int32_t part = 0; part < parts_of_row(layout, w.cols); ++part) {
      const BlocksOfPart<S> blocks(w, layout, part);
      for (int i = 0; i < kLanes; ++i) {
        const int32_t row = block * kLanes + i;
        read_row<S>(w, blocks, row < w.rows ? row : w.rows - 1, &rows[i]);
      }
      to = put_block_header<S>(layout, rows, to);
      to = put_values<S>(layout, codes, to);
    }
}

// One lane of a part.
template <class V>
struct LaneOfPart {
  BlocksLayout layout;
  const uint8_t* part;
  size_t lanes, lane;

  [[nodiscard]] float half_at(size_t i) const {
    uint16_t bits = 0;
    std::memcpy(&bits, part + 2 * (i * lanes + lane), sizeof bits);
    return layout.scales == Scales::bf16 ? bf16_to_f32(bits) : f16_to_f32(bits);
  }
  [[nodiscard]] uint8_t byte_at(size_t i) const { return part[i * lanes + lane]; }
  [[nodiscard]] float scale(size_t g) const {
    if (layout.in_products()) return half_at(0) * static_cast<float>(static_cast<int8_t>(byte_at(4 + g)));
    return layout.scales == Scales::e4m3 ? half_e4m3<V>(byte_at(g)) : half_at(g);
  }
  [[nodiscard]] float bias(size_t g) const {
    if (!layout.least) return 0;
    const size_t at = static_cast<size_t>(layout.groups) + g;
    return layout.in_products() ? -(half_at(1) * static_cast<float>(byte_at(4 + at))) : half_at(at);
  }
  [[nodiscard]] int32_t code(int32_t column) const {
    const Codes codes = layout.codes;
    const int32_t low = low_bits(codes), high = high_bits(codes), unit = column / 4, u = unit % run_units(codes);
    const uint8_t* const run = part + lanes * layout.header_bytes() +
                               static_cast<size_t>(unit / run_units(codes) * run_vectors(codes)) * 4 * lanes;
    const auto bits = [&](int32_t vector, int32_t from, int32_t count) {
      const size_t at = (static_cast<size_t>(vector) * lanes + lane) * 4 + static_cast<size_t>(column % 4);
      return run[at] >> from & ((1 << count) - 1);
    };
    int32_t found = bits(u * low / 8, u * low % 8, low);
    if (high > 0) found |= bits(low_vectors(codes), u * high, high) << low;
    if (codes == Codes::iq4_levels) return kIq4Levels[found];
    return codes == Codes::fp4_levels ? kFp4Levels[found] : found;
  }
};

// As CpuTable's, of packed rows.
template <class V>
void dequantise_packed(const Matrix& w, int32_t row, float* y) {
  constexpr int kLanes = V::kLanes;
  const BlocksLayout layout = blocks_layout(w.format);
  const auto* first = static_cast<const uint8_t*>(w.values) +
                      static_cast<size_t>(row / kLanes) * block_of_rows_bytes(layout, w.cols, kLanes);
  LaneOfPart<V> at{layout, first, kLanes, static_cast<size_t>(row % kLanes)};
  const int32_t zero = block_zero(w.format);
  for (int32_t k = 0; k < w.cols; k += layout.group) {
    const int32_t column = k % layout.columns();
    at.part = first + static_cast<size_t>(k / layout.columns()) * part_bytes(layout, kLanes);
    const auto g = static_cast<size_t>(column / layout.group);
    const float scale = at.scale(g), bias = at.bias(g);
    for (int32_t i = 0; i < layout.group; ++i) y[k + i] = scale * static_cast<float>(at.code(column + i) - zero) + bias;
  }
}

// As CpuTable's, of all that is rearranged.
template <class V>
size_t all_packed_bytes(const Matrix& w) {
  return in_blocks(w.format) ? packed_block_bytes<V::kLanes>(w) : packed_bytes<V::kLanes>(w);
}

template <class V>
void dequantise(const Matrix& w, int32_t row, float scale, float* y) {
  const bool small = w.format == WeightFormat::f8 || w.format == WeightFormat::nf4;
  if (small && !w.packed) return dequantise_small_floats<V>(w, row, scale, y);
  if (!w.packed) return portable::dequantise(w, row, scale, y);
  dequantise_packed<V>(w, row, y);
  for (int32_t k = 0; k < w.cols; ++k) y[k] = portable::times_factor(w, row, y[k]) * scale;
}

}  // namespace paceline::kernels::lanes
