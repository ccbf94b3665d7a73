// Rearranging weights in blocks, for both tables of this processor; compiled for the lesser one. A part of a row is
// decoded and its codes brought into the form in which they lie, then it is dealt out.
#include <algorithm>
#include <cstring>

#include "kernels/neon/blocks_layout.h"
#include "kernels/portable/matmul.h"
#include "tensor/blocks.h"

namespace paceline::kernels::neon {
namespace {

// A row's piece of a part: at most 256 columns, 16 groups.
struct RowPart {
  uint8_t codes[kMostBlockElements];
  uint16_t scales[kMostBlockGroups];  // bits of floats; of products, the small numbers
  uint16_t least[kMostBlockGroups];
  uint16_t factors[2];
};

// By level, its number.
struct LevelNumbers {
  uint8_t of[256] = {};

  constexpr explicit LevelNumbers(const uint8_t (&levels)[16]) {
    // Of two numbers of one level the first stays.
    for (int i = 15; i >= 0; --i) of[levels[i]] = static_cast<uint8_t>(i);
  }
};
constexpr LevelNumbers kIq4Numbers{kIq4Levels}, kFp4Numbers{kFp4Levels};

// From decode_block's codes to those that lie in a part; count is a multiple of 32.
void convert_codes(Codes kind, int32_t zero, int32_t count, uint8_t* codes) {
  const auto each = [&](auto change) {
    for (int32_t i = 0; i < count; ++i) codes[i] = static_cast<uint8_t>(change(codes[i]));
  };
  switch (kind) {
    case Codes::nibbles:
    case Codes::fives: return;
    case Codes::signed_nibbles: return each([&](uint8_t c) { return (c - zero) & 15; });
    // The fifth bit says that a code is negative.
    case Codes::signed_fives: return each([](uint8_t c) { return c ^ 16; });
    case Codes::iq4_levels: return each([](uint8_t c) { return kIq4Numbers.of[c]; });
    case Codes::fp4_levels: return each([](uint8_t c) { return kFp4Numbers.of[c]; });
    case Codes::bytes: return each([&](uint8_t c) { return c - zero; });
  }
}

uint16_t scale_bits(Scales kind, float scale) { return kind == Scales::bf16 ? f32_to_bf16(scale) : f32_to_f16(scale); }

// Columns [begin, begin + columns) of a row, whole blocks.
void read_part(const Matrix& w, int32_t row, int32_t begin, int32_t columns, RowPart* out) {
  const BlocksLayout layout = blocks_layout(w.format);
  const BlockShape shape = block_shape(w.format);
  const int32_t groups = shape.elements / shape.group;
  const auto* blocks = static_cast<const uint8_t*>(w.values) + row * static_cast<int64_t>(w.row_value_bytes()) +
                       int64_t{begin / shape.elements} * shape.bytes;
  DecodedBlock block;
  for (int32_t k = 0, first = 0; k < columns; k += shape.elements, blocks += shape.bytes, first += groups) {
    decode_block(w, row, (begin + k) / shape.elements, &block);
    std::memcpy(out->codes + k, block.codes, static_cast<size_t>(shape.elements));
    if (layout.in_products()) continue;
    if (groups == 1 && layout.scales == Scales::f16) {
      // A block's first numbers, as they lie.
      std::memcpy(&out->scales[first], blocks, sizeof(uint16_t));
      if (layout.least) std::memcpy(&out->least[first], blocks + sizeof(uint16_t), sizeof(uint16_t));
      continue;
    }
    for (int32_t g = 0; g < groups; ++g) out->scales[first + g] = scale_bits(layout.scales, block.scales[g]);
  }
  convert_codes(layout.codes, block_zero(w.format), columns, out->codes);
  if (!layout.in_products()) return;
  BlockProducts products;
  read_products(w.format, blocks - shape.bytes, &products);
  out->factors[0] = products.factor;
  out->factors[1] = products.least_factor;
  for (int g = 0; g < kMostBlockGroups; ++g) {
    out->scales[g] = static_cast<uint8_t>(products.scales[g]);
    out->least[g] = static_cast<uint8_t>(products.least[g]);
  }
}

// The scales, or the least numbers, of four rows.
void put_scales(const BlocksLayout& layout, const RowPart* rows, uint16_t (RowPart::*scales)[kMostBlockGroups],
                uint8_t* out) {
  for (int32_t g = 0; g < layout.steps * layout.groups; ++g)
    for (int r = 0; r < kRowsOfBlock; ++r) {
      const uint16_t bits = (rows[r].*scales)[g];
      if (layout.in_products())
        *out++ = static_cast<uint8_t>(bits);
      else
        std::memcpy(out, &bits, sizeof bits), out += sizeof bits;
    }
}

void put_header(const BlocksLayout& layout, const RowPart* rows, uint8_t* out) {
  if (layout.in_products()) {
    for (int i = 0; i < 2; ++i)
      for (int r = 0; r < kRowsOfBlock; ++r) std::memcpy(out + 8 * i + 2 * r, &rows[r].factors[i], sizeof(uint16_t));
    out += layout.factor_bytes();
  }
  put_scales(layout, rows, &RowPart::scales, out);
  if (layout.least) put_scales(layout, rows, &RowPart::least, out + layout.scale_bytes());
}

constexpr uint64_t kLowBits = 0x0101010101010101u, kLowHalves = 15 * kLowBits;

// Eight codes, one in a byte.
uint64_t eight_at(const uint8_t* codes) {
  uint64_t eight = 0;
  std::memcpy(&eight, codes, sizeof eight);
  return eight;
}

// A row's eight bytes of each piece; codes: of the step.
void put_nibbles(const uint8_t* codes, int row, uint8_t* out) {
  for (int piece = 0; piece < 2; ++piece) {
    const uint64_t low = eight_at(codes + 8 * piece) & kLowHalves, high = eight_at(codes + 16 + 8 * piece) & kLowHalves;
    const uint64_t both = low | high << 4;
    std::memcpy(out + 32 * piece + 8 * row, &both, sizeof both);
  }
}

void put_fifth_bits(const uint8_t* codes, int row, uint8_t* out) {
  const int half = row / 2;  // of the operands that rows 0 and 1, or 2 and 3, share
  uint64_t bits = eight_at(out + 8 * (row % 2));
  for (int piece = 0; piece < 4; ++piece) bits |= (eight_at(codes + 8 * piece) >> 4 & kLowBits) << (2 * piece + half);
  std::memcpy(out + 8 * (row % 2), &bits, sizeof bits);
}

void put_codes(const BlocksLayout& layout, const uint8_t* codes, int row, uint8_t* out) {
  if (layout.codes == Codes::bytes) {
    for (int piece = 0; piece < 4; ++piece) std::memcpy(out + 32 * piece + 8 * row, codes + 8 * piece, 8);
    return;
  }
  put_nibbles(codes, row, out);
  if (layout.step_bytes() > 64) put_fifth_bits(codes, row, out + 64);
}

void pack_rows(const Matrix& w, int32_t row, uint8_t* out) {
  const BlocksLayout layout = blocks_layout(w.format);
  const int32_t part_columns = layout.steps * kStepColumns;
  std::memset(out, 0, block_of_rows_bytes(w));
  for (int32_t k = 0; k < w.cols; k += part_columns) {
    const int32_t columns = std::min(part_columns, w.cols - k), steps = columns / kStepColumns;
    RowPart rows[kRowsOfBlock] = {};
    for (int r = 0; r < kRowsOfBlock && row + r < w.rows; ++r) read_part(w, row + r, k, columns, &rows[r]);
    put_header(layout, rows, out);
    out += layout.header_bytes();
    for (int32_t step = 0; step < steps; ++step, out += layout.step_bytes())
      for (int r = 0; r < kRowsOfBlock; ++r) put_codes(layout, rows[r].codes + step * kStepColumns, r, out);
  }
}

// Number `at` (step, group, row) of scales or least numbers.
float scale_at(const BlocksLayout& layout, const uint8_t* scales, int32_t at) {
  if (layout.scales == Scales::products) return static_cast<float>(scales[at]);
  if (layout.scales == Scales::signed_products) return static_cast<float>(static_cast<int8_t>(scales[at]));
  uint16_t bits = 0;
  std::memcpy(&bits, scales + 2 * at, sizeof bits);
  return layout.scales == Scales::bf16 ? bf16_to_f32(bits) : f16_to_f32(bits);
}

float factor_at(const uint8_t* header, int least, int row) {
  uint16_t bits = 0;
  std::memcpy(&bits, header + 8 * least + 2 * row, sizeof bits);
  return f16_to_f32(bits);
}

// What the code of a column of the step stands for, before scales.
int32_t code_at(const BlocksLayout& layout, const uint8_t* step, int row, int32_t column) {
  const int piece = column / 8, j = column % 8;
  if (layout.codes == Codes::bytes) return static_cast<int8_t>(step[32 * piece + 8 * row + j]);
  const int nibble = step[32 * (piece % 2) + 8 * row + j] >> (piece < 2 ? 0 : 4) & 15;
  const auto fifth = [&] { return step[64 + 8 * (row % 2) + j] >> (2 * piece + row / 2) & 1; };
  switch (layout.codes) {
    case Codes::signed_nibbles: return nibble < 8 ? nibble : nibble - 16;
    case Codes::iq4_levels: return kIq4Levels[nibble] - block_zero(WeightFormat::iq4_nl);
    case Codes::fp4_levels: return kFp4Levels[nibble] - block_zero(WeightFormat::mxfp4);
    case Codes::fives: return nibble + 16 * fifth();
    case Codes::signed_fives: return nibble - 16 * fifth();
    default: return nibble;
  }
}

}  // namespace

size_t packed_blocks_bytes(const Matrix& w) {
  return static_cast<size_t>((w.rows + kRowsOfBlock - 1) / kRowsOfBlock) * block_of_rows_bytes(w);
}

void pack_blocks(const Matrix& w, void* out, int32_t block_begin, int32_t block_end) {
  for (int32_t block = block_begin; block < block_end; ++block)
    pack_rows(w, block * kRowsOfBlock,
              static_cast<uint8_t*>(out) + static_cast<size_t>(block) * block_of_rows_bytes(w));
}

void dequantise(const Matrix& w, int32_t row, float scale, float* y) {
  if (!w.packed || !in_blocks(w.format)) return portable::dequantise(w, row, scale, y);
  const BlocksLayout layout = blocks_layout(w.format);
  const int r = row % kRowsOfBlock;
  const int32_t group = kStepColumns / layout.groups;
  const auto* at =
      static_cast<const uint8_t*>(w.values) + static_cast<size_t>(row / kRowsOfBlock) * block_of_rows_bytes(w);
  const uint8_t* header = at;
  for (int32_t k = 0; k < w.cols; ++k) {
    const int32_t step = k / kStepColumns % layout.steps, column = k % kStepColumns;
    if (column == 0 && step == 0) header = at, at += layout.header_bytes();
    const uint8_t* scales = header + layout.factor_bytes();
    const int32_t number = (step * layout.groups + column / group) * kRowsOfBlock + r;
    float s = scale_at(layout, scales, number), bias = 0;
    if (layout.least) bias = scale_at(layout, scales + layout.scale_bytes(), number);
    if (layout.in_products()) {
      s = factor_at(header, 0, r) * s;
      bias = layout.least ? -(factor_at(header, 1, r) * bias) : 0;
    }
    const float value = s * static_cast<float>(code_at(layout, at, r, column)) + bias;
    y[k] = portable::times_factor(w, row, value) * scale;
    if (column == kStepColumns - 1) at += layout.step_bytes();
  }
}

}  // namespace paceline::kernels::neon
