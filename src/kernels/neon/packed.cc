#include "kernels/neon/packed.h"

#include <cstring>

#include "kernels/neon/blocks_layout.h"
#include "kernels/neon/matmul_f8.h"
#include "kernels/portable/matmul.h"

namespace paceline::kernels::neon {
namespace {

int32_t groups_of(const Matrix& w) { return w.cols / w.group; }
int32_t parts_of(const Matrix& w) { return (groups_of(w) + 3) / 4; }

size_t header_bytes(const Matrix& w) {
  return w.scale_dtype == DType::bf16 ? kHeaderBytes<uint16_t> : kHeaderBytes<float>;
}

// Row n's scale or bias of group g; 0 beyond the last row or group.
float scale_at(const Matrix& w, const void* scales, int32_t n, int32_t g) {
  return n < w.rows && g < groups_of(w) ? portable::scale_at(w, scales, n, g) : 0;
}

void pack_header(const Matrix& w, int32_t row, int32_t group, uint8_t* out) {
  constexpr int kFour = 4 * kBlockRows;
  const bool bf16 = w.scale_dtype == DType::bf16;
  auto* biases = reinterpret_cast<uint16_t*>(out + header_bytes(w) / 2);
  for (int g = 0; g < 4; ++g)
    for (int r = 0; r < kBlockRows; ++r) {
      const float scale = scale_at(w, w.scales, row + r, group + g), bias = scale_at(w, w.biases, row + r, group + g);
      if (bf16)
        reinterpret_cast<uint16_t*>(out)[g * 4 + r] = f32_to_bf16(scale);
      else
        reinterpret_cast<float*>(out)[g * 4 + r] = scale;
      const uint16_t upper = f32_to_bf16(bias);
      biases[r * 4 + g] = upper;
      if (!bf16) biases[kFour + r * 4 + g] = f32_to_bf16(bias - bf16_to_f32(upper));
    }
}

void pack_block(const Matrix& w, int32_t row, uint8_t* out) {
  for (int32_t part = 0; part < parts_of(w); ++part, out += header_bytes(w)) pack_header(w, row, 4 * part, out);
  const size_t row_bytes = w.row_value_bytes();
  const auto* values = static_cast<const uint8_t*>(w.values);
  for (size_t at = 0; at < row_bytes; at += 8)
    for (int r = 0; r < kBlockRows; ++r, out += 8) {
      if (row + r < w.rows)
        std::memcpy(out, values + static_cast<size_t>(row + r) * row_bytes + at, 8);
      else
        std::memset(out, 0, 8);
    }
}

}  // namespace

size_t block_bytes(const Matrix& w) {
  return kBlockRows * w.row_value_bytes() + static_cast<size_t>(parts_of(w)) * header_bytes(w);
}

size_t packed_bytes(const Matrix& w) {
  if (in_blocks(w.format) && !w.packed) return packed_blocks_bytes(w);
  if (w.format == WeightFormat::f8 && !w.packed) return packed_f8_bytes(w);
  if (!w.quantised() || w.packed) return 0;
  return static_cast<size_t>((w.rows + kBlockRows - 1) / kBlockRows) * block_bytes(w);
}

void pack(const Matrix& w, void* out, int32_t block_begin, int32_t block_end) {
  if (in_blocks(w.format)) return pack_blocks(w, out, block_begin, block_end);
  if (w.format == WeightFormat::f8) return pack_f8(w, out, block_begin, block_end);
  for (int32_t block = block_begin; block < block_end; ++block)
    pack_block(w, block * kBlockRows, static_cast<uint8_t*>(out) + static_cast<size_t>(block) * block_bytes(w));
}

}  // namespace paceline::kernels::neon
