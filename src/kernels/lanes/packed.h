// How matrices in affine groups of 8 or 4 bits lie for sets that keep one output in each lane, rearranged once at load.
// As many rows as there are lanes make a block, read from its first byte to its last; the last row stands in for those
// beyond N. A block is a run of groups of columns, each of which is
//   scales  [lanes], bf16 or float32 as the checkpoint has them; then biases, likewise
//   values  [vectors][lanes][4 bytes]: neighbouring bytes of a row, 4 columns of q8, or 8 of q4, whose low
//           halves are the even ones
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tensor/matrix.h"

namespace paceline::kernels::lanes {

template <int kLanes>
constexpr size_t header_bytes(DType scales) {
  return 2 * kLanes * dtype_bytes(scales);
}

// Of a group: a whole number of vectors wherever scales are a quarter of a vector or more.
template <int kLanes>
size_t group_bytes(const Matrix& w) {
  return header_bytes<kLanes>(w.scale_dtype) +
         static_cast<size_t>(w.group) * kLanes / (w.format == WeightFormat::q4 ? 2 : 1);
}

template <int kLanes>
size_t block_bytes(const Matrix& w) {
  return static_cast<size_t>(w.cols / w.group) * group_bytes<kLanes>(w);
}

// As CpuTable's.
template <int kLanes>
size_t packed_bytes(const Matrix& w) {
  if (!w.quantised() || w.packed) return 0;
  return static_cast<size_t>((w.rows + kLanes - 1) / kLanes) * block_bytes<kLanes>(w);
}

// Number `at` of each row, one after the other.
template <int kLanes, class Scale>
uint8_t* put_scales(const uint8_t* const* rows, int32_t at, uint8_t* out) {
  for (int i = 0; i < kLanes; ++i, out += sizeof(Scale))
    std::memcpy(out, rows[i] + static_cast<size_t>(at) * sizeof(Scale), sizeof(Scale));
  return out;
}

template <class S, class Scale>
uint8_t* pack_block(const Matrix& w, int32_t first, uint8_t* out) {
  constexpr int kLanes = S::V::kLanes;
  const int32_t groups = w.cols / w.group;
  const size_t row_bytes = w.row_value_bytes(), scale_bytes = static_cast<size_t>(groups) * sizeof(Scale);
  const int64_t value_bytes = static_cast<int64_t>(row_bytes) / groups;
  const uint8_t *values[kLanes], *scales[kLanes], *biases[kLanes];
  for (int i = 0; i < kLanes; ++i) {
    const auto row = static_cast<size_t>(first + i < w.rows ? first + i : w.rows - 1);
    values[i] = static_cast<const uint8_t*>(w.values) + row * row_bytes;
    scales[i] = static_cast<const uint8_t*>(w.scales) + row * scale_bytes;
    biases[i] = static_cast<const uint8_t*>(w.biases) + row * scale_bytes;
  }
  for (int32_t g = 0; g < groups; ++g) {
    out = put_scales<kLanes, Scale>(scales, g, out);
    out = put_scales<kLanes, Scale>(biases, g, out);
    for (int64_t at = g * value_bytes; at < (g + 1) * value_bytes; at += 16) {
      typename S::Int units[4];
      S::turn(values, at, units);
      for (const auto& unit : units) out = S::append(unit, out);
    }
  }
  return out;
}

// As CpuTable's. Bound by the bytes that are read and written; S turns rows (matmul_packed.h).
template <class S>
void pack(const Matrix& w, void* out, int32_t block_begin, int32_t block_end) {
  constexpr int kLanes = S::V::kLanes;
  auto* to = static_cast<uint8_t*>(out) + static_cast<size_t>(block_begin) * block_bytes<kLanes>(w);
  for (int32_t block = block_begin; block < block_end; ++block)
    to = w.scale_dtype == DType::bf16 ? pack_block<S, uint16_t>(w, block * kLanes, to)
                                      : pack_block<S, float>(w, block * kLanes, to);
}

}  // namespace paceline::kernels::lanes
