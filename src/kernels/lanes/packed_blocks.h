// How some matrices in blocks (tensor/blocks.h) lie for sets that keep one output in each lane, rearranged once at
// load: the file's numbers to the bit. As many rows as there are lanes make a block of rows, read from its first byte
// to its last; the last row stands in for those beyond N. A block of rows is a run of parts of two groups of columns,
// or of 256 columns where scales are products; each of these is
//   scales  [group][lanes], float16, then least numbers likewise where a format has them; or, where scales are
//           products, factors and least factors [lanes], float16, then one byte for each [group][lanes], and the same
//           of least numbers
//   values  [vectors][lanes][4 bytes]: four columns, or eight, of which the second four are in the upper halves
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/lanes/packed.h"
#include "kernels/portable/matmul.h"
#include "tensor/blocks.h"

namespace paceline::kernels::lanes {

// Those that people have most, and whose codes have four or eight bits, or nearly so.
constexpr bool packs_blocks(WeightFormat f) {
  return f == WeightFormat::q8_0 || f == WeightFormat::q4_0 || f == WeightFormat::q4_1 || f == WeightFormat::q4_k ||
         f == WeightFormat::q6_k;
}

constexpr bool has_least(WeightFormat f) { return f == WeightFormat::q4_1 || f == WeightFormat::q4_k; }

// Of a part.
constexpr int32_t part_groups(WeightFormat f) {
  return has_products(f) ? block_shape(f).elements / block_shape(f).group : 2;
}
constexpr int32_t part_columns(WeightFormat f) { return part_groups(f) * block_shape(f).group; }

constexpr size_t block_header_bytes(WeightFormat f, int lanes) {
  const auto numbers = static_cast<size_t>(part_groups(f) * lanes * (has_least(f) ? 2 : 1));
  return has_products(f) ? static_cast<size_t>(lanes) * 4 + numbers : 2 * numbers;
}
constexpr size_t part_value_bytes(WeightFormat f, int lanes) {
  return static_cast<size_t>(part_columns(f) * lanes / (has_nibbles(f) ? 2 : 1));
}
constexpr size_t part_bytes(WeightFormat f, int lanes) {
  return block_header_bytes(f, lanes) + part_value_bytes(f, lanes);
}

// As CpuTable's.
template <int kLanes>
size_t packed_block_bytes(const Matrix& w) {
  if (w.packed || !packs_blocks(w.format) || w.cols % part_columns(w.format) != 0) return 0;
  const auto parts = static_cast<size_t>(w.cols / part_columns(w.format));
  return static_cast<size_t>((w.rows + kLanes - 1) / kLanes) * parts * part_bytes(w.format, kLanes);
}

// A row's numbers of a part: codes, and scales as they lie in the file.
struct RowOfPart {
  uint8_t codes[kMostBlockElements];
  BlockProducts products;
  uint16_t scales[2], least[2];
};

inline void read_row(const Matrix& w, int32_t row, int32_t part, RowOfPart* out) {
  const BlockShape shape = block_shape(w.format);
  const int32_t blocks = part_columns(w.format) / shape.elements;
  const auto* at = static_cast<const uint8_t*>(w.values) + static_cast<size_t>(row) * w.row_value_bytes() +
                   static_cast<size_t>(part * blocks * shape.bytes);
  for (int32_t b = 0; b < blocks; ++b, at += shape.bytes) {
    DecodedBlock block;
    decode_block(w.format, at, &block);
    std::memcpy(out->codes + b * shape.elements, block.codes, static_cast<size_t>(shape.elements));
    if (has_products(w.format)) {
      read_products(w.format, at, &out->products);
    } else {
      std::memcpy(out->scales + b, at, sizeof(uint16_t));
      std::memcpy(out->least + b, at + 2, sizeof(uint16_t));
    }
  }
}

template <int kLanes>
uint8_t* put_block_header(WeightFormat f, const RowOfPart (&rows)[kLanes], uint8_t* out) {
  const auto put = [&](auto number_of) {
    for (const RowOfPart& row : rows) {
      const auto number = number_of(row);
      std::memcpy(out, &number, sizeof number);
      out += sizeof number;
    }
  };
  if (has_products(f)) {
    put([](const RowOfPart& row) { return row.products.factor; });
    put([](const RowOfPart& row) { return row.products.least_factor; });
    for (int32_t g = 0; g < part_groups(f); ++g) put([g](const RowOfPart& row) { return row.products.scales[g]; });
    for (int32_t g = 0; has_least(f) && g < part_groups(f); ++g)
      put([g](const RowOfPart& row) { return row.products.least[g]; });
    return out;
  }
  for (int g = 0; g < 2; ++g) put([g](const RowOfPart& row) { return row.scales[g]; });
  for (int g = 0; has_least(f) && g < 2; ++g) put([g](const RowOfPart& row) { return row.least[g]; });
  return out;
}

// As CpuTable's, of what packed_block_bytes has bytes for.
template <class S>
void pack_blocks(const Matrix& w, void* out, int32_t block_begin, int32_t block_end) {
  constexpr int kLanes = S::V::kLanes;
  const int32_t columns = part_columns(w.format), parts = w.cols / columns;
  auto* to = static_cast<uint8_t*>(out) +
             static_cast<size_t>(block_begin) * static_cast<size_t>(parts) * part_bytes(w.format, kLanes);
  RowOfPart rows[kLanes];
  const uint8_t* codes[kLanes];
  for (int i = 0; i < kLanes; ++i) codes[i] = rows[i].codes;
  for (int32_t block = block_begin; block < block_end; ++block)
    for (int32_t part = 0; part < parts; ++part) {
      for (int i = 0; i < kLanes; ++i) {
        const int32_t row = block * kLanes + i;
        read_row(w, row < w.rows ? row : w.rows - 1, part, &rows[i]);
      }
      to = put_block_header<kLanes>(w.format, rows, to);
      for (int32_t k = 0; k < columns; k += 16) {
        typename S::Int units[4];
        S::template turn<1>(codes, k, units);
        for (int u = 0; u < 4; ++u) {
          if (!has_nibbles(w.format))
            to = S::append(units[u], to);
          else if (u % 2 == 1)
            to = S::append(S::either(units[u - 1], S::template up<4>(units[u])), to);
        }
      }
    }
}

// As CpuTable's, of packed rows.
template <int kLanes>
void dequantise_packed(const Matrix& w, int32_t row, float* y) {
  const WeightFormat f = w.format;
  const int32_t group = block_shape(f).group, columns = part_columns(f);
  const auto lane = static_cast<size_t>(row % kLanes), lanes = static_cast<size_t>(kLanes);
  const auto* at = static_cast<const uint8_t*>(w.values) +
                   static_cast<size_t>(row / kLanes) * static_cast<size_t>(w.cols / columns) * part_bytes(f, kLanes);
  const auto half_at = [&](size_t i) {
    uint16_t bits = 0;
    std::memcpy(&bits, at + 2 * i, sizeof bits);
    return f16_to_f32(bits);
  };
  const auto zero = static_cast<float>(block_zero(f));
  for (int32_t k = 0; k < w.cols; ++k) {
    const auto in_part = static_cast<size_t>(k % columns), g = in_part / static_cast<size_t>(group);
    const size_t least = static_cast<size_t>(part_groups(f)) + g;
    const uint8_t* numbers = at + 4 * lanes;
    float scale = 0, bias = 0;
    if (has_products(f)) {
      scale = half_at(lane) * static_cast<float>(static_cast<int8_t>(numbers[g * lanes + lane]));
      if (has_least(f)) bias = -(half_at(lanes + lane) * static_cast<float>(numbers[least * lanes + lane]));
    } else {
      scale = half_at(g * lanes + lane);
      if (has_least(f)) bias = half_at(least * lanes + lane);
    }
    const uint8_t* values = at + block_header_bytes(f, kLanes);
    const size_t column = in_part % 4;
    const float code = static_cast<float>(
        has_nibbles(f) ? values[in_part / 8 * 4 * lanes + 4 * lane + column] >> (in_part % 8 < 4 ? 0 : 4) & 15
                       : values[in_part / 4 * 4 * lanes + 4 * lane + column]);
    y[k] = scale * (code - zero) + bias;
    if (in_part + 1 == static_cast<size_t>(columns)) at += part_bytes(f, kLanes);
  }
}

// As CpuTable's, of all that is rearranged.
template <class V>
size_t all_packed_bytes(const Matrix& w) {
  return in_blocks(w.format) ? packed_block_bytes<V::kLanes>(w) : packed_bytes<V::kLanes>(w);
}

template <class V>
void dequantise(const Matrix& w, int32_t row, float scale, float* y) {
  if (!w.packed) return portable::dequantise(w, row, scale, y);
  dequantise_packed<V::kLanes>(w, row, y);
  for (int32_t k = 0; k < w.cols; ++k) y[k] = portable::times_factor(w, row, y[k]) * scale;
}

}  // namespace paceline::kernels::lanes
