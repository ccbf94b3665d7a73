// Matrices in GGUF's blocks, taken apart on the host for layout.h: codes, and what Scales says of them. Nothing is
// rounded.
#pragma once

#include <cstring>

#include "kernels/cuda/layout.h"
#include "tensor/blocks.h"

namespace paceline::kernels::cuda {

struct BlockForm {
  Format format = Format::q8;
  Scales scales = Scales::f32;
};

// The kernels that are written for them take the formats that most files are in: those with scales of their own. The
// others have {scale, bias} in float32.
constexpr BlockForm block_form(WeightFormat f) {
  switch (f) {
    case WeightFormat::q8_0:
    case WeightFormat::q5_0:
    case WeightFormat::iq4_nl: return {Format::q8, Scales::centred};
    case WeightFormat::q4_0: return {Format::q4, Scales::centred};
    case WeightFormat::q4_k: return {Format::q4, Scales::products};
    case WeightFormat::q5_k: return {Format::q8, Scales::products};
    case WeightFormat::q6_k: return {Format::q8, Scales::signed_products};
    case WeightFormat::q4_1:
    case WeightFormat::q2_k:
    case WeightFormat::q3_k: return {Format::q4, Scales::f32};
    default: return {};
  }
}

// What a row takes, in bytes: its codes, a byte or half a byte each, and its scales, or its biases.
constexpr size_t code_bytes(const Weight& w) { return static_cast<size_t>(w.cols) / (w.format == Format::q8 ? 1 : 2); }
constexpr size_t raw_scale_bytes(const Weight& w) {
  return pairs(w.scales) ? static_cast<size_t>(w.cols / w.group) * sizeof(float)
                         : static_cast<size_t>(w.depth() / kStepK) * static_cast<size_t>(record_bytes(w.scales));
}

// Where a row's codes, scales and biases go; there are biases where scales are pairs.
struct BlockRow {
  uint8_t* codes = nullptr;
  std::byte* scales = nullptr;
  std::byte* biases = nullptr;
};

inline void put_codes(const Weight& w, int32_t zero, const uint8_t* codes, int32_t first, int32_t count, uint8_t* to) {
  const int32_t less = signed_codes(w.scales) ? zero : 0;
  const auto code = [&](int32_t k) { return static_cast<uint8_t>(codes[k] - less); };
  for (int32_t k = 0; k < count && w.format == Format::q8; ++k) to[first + k] = code(k);
  for (int32_t k = 0; k < count && w.format == Format::q4; k += 2)
    to[(first + k) / 2] = static_cast<uint8_t>((code(k) & 15) | code(k + 1) << 4);
}

// Of 256 columns, two steps.
inline void put_products(const BlockProducts& products, Scales scales, std::byte* to) {
  for (int step = 0; step < 2; ++step, to += record_bytes(scales)) {
    std::memcpy(to, &products.factor, 2);
    std::memcpy(to + 2, &products.least_factor, 2);
    for (int i = 0; i < 8; ++i) {
      const bool centred = scales == Scales::signed_products;
      const int number = centred ? products.scales[step * 8 + i] + 128
                         : i < 4 ? products.scales[step * 4 + i]
                                 : products.least[step * 4 + i - 4];
      to[4 + i] = static_cast<std::byte>(number);
    }
  }
}

// w: the matrix as kernels will have it.
inline void take_apart(const Matrix& m, int64_t row, const Weight& w, const BlockRow& to) {
  const BlockShape shape = block_shape(m.format);
  const int32_t zero = block_zero(m.format), groups = shape.elements / shape.group;
  const auto* blocks = static_cast<const std::byte*>(m.values) + static_cast<size_t>(row) * m.row_value_bytes();
  DecodedBlock block;
  if (!pairs(w.scales)) std::memset(to.scales, 0, raw_scale_bytes(w));
  for (int32_t b = 0; b < m.cols / shape.elements; ++b) {
    decode_block(m, row, b, &block);
    put_codes(w, zero, block.codes, b * shape.elements, shape.elements, to.codes);
    if (pairs(w.scales)) {
      for (int32_t g = 0; g < groups; ++g) {
        const float bias = block.biases[g] - static_cast<float>(zero) * block.scales[g];
        std::memcpy(to.scales + (b * groups + g) * 4, &block.scales[g], 4);
        std::memcpy(to.biases + (b * groups + g) * 4, &bias, 4);
      }
    } else if (w.scales == Scales::centred) {
      const uint16_t scale = f32_to_f16(block.scales[0]);
      std::memcpy(to.scales + b * 2, &scale, 2);
    } else {
      BlockProducts products;
      read_products(m.format, blocks + static_cast<size_t>(b) * static_cast<size_t>(shape.bytes), &products);
      put_products(products, w.scales, to.scales + 2 * b * record_bytes(w.scales));
    }
  }
}

}  // namespace paceline::kernels::cuda
