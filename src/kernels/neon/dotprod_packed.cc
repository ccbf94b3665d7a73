#include <cstring>

#include "kernels/neon/blocks_layout.h"
#include "kernels/neon/dotprod.h"
#include "kernels/portable/matmul.h"

namespace paceline::kernels::neon::dotprod {
namespace {

int32_t groups_of(const Matrix& w) { return w.cols / w.group; }
size_t scale_bytes(const Matrix& w) { return w.scale_dtype == DType::bf16 ? sizeof(uint16_t) : sizeof(float); }

// Four rows' scales, or biases, of a group.
uint8_t* pack_scales(const Matrix& w, const void* scales, int32_t row, int32_t g, uint8_t* out) {
  for (int32_t r = row; r < row + kBlockRows; ++r, out += scale_bytes(w)) {
    const float scale = r < w.rows ? portable::scale_at(w, scales, r, g) : 0;
    if (w.scale_dtype == DType::bf16) {
      const uint16_t bits = f32_to_bf16(scale);
      std::memcpy(out, &bits, sizeof bits);
    } else {
      std::memcpy(out, &scale, sizeof scale);
    }
  }
  return out;
}

uint8_t value_at(const Matrix& w, int32_t row, int32_t k) {
  return row < w.rows ? static_cast<uint8_t>(portable::quantised_at(w, row, k)) : 0;
}

uint8_t* pack_values(const Matrix& w, int32_t row, int32_t g, uint8_t* out) {
  const bool nibbles = w.format == WeightFormat::q4;
  for (int32_t k = g * w.group; k < (g + 1) * w.group; k += nibbles ? 8 : 4)
    for (int32_t r = row; r < row + kBlockRows; ++r)
      for (int32_t i = k; i < k + 4; ++i)
        *out++ = nibbles ? static_cast<uint8_t>(value_at(w, r, i) | value_at(w, r, i + 4) << 4)
                         : static_cast<uint8_t>(value_at(w, r, i) ^ 128);
  return out;
}

}  // namespace

size_t block_bytes(const Matrix& w) {
  return kBlockRows * (w.row_value_bytes() + static_cast<size_t>(groups_of(w)) * 2 * scale_bytes(w));
}

size_t packed_bytes(const Matrix& w) {
  if (in_blocks(w.format) && !w.packed) return packed_blocks_bytes(w);
  if (!w.quantised() || w.packed) return 0;
  return static_cast<size_t>((w.rows + kBlockRows - 1) / kBlockRows) * block_bytes(w);
}

void pack(const Matrix& w, void* out, int32_t block_begin, int32_t block_end) {
  if (in_blocks(w.format)) return pack_blocks(w, out, block_begin, block_end);
  for (int32_t block = block_begin; block < block_end; ++block) {
    uint8_t* to = static_cast<uint8_t*>(out) + static_cast<size_t>(block) * block_bytes(w);
    for (int32_t g = 0; g < groups_of(w); ++g) {
      to = pack_scales(w, w.scales, block * kBlockRows, g, to);
      to = pack_scales(w, w.biases, block * kBlockRows, g, to);
      to = pack_values(w, block * kBlockRows, g, to);
    }
  }
}

}  // namespace paceline::kernels::neon::dotprod
