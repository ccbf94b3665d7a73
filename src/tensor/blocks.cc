#include "tensor/blocks.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "base/check.h"

namespace paceline {
namespace {

uint16_t bits_at(const uint8_t* p) {
  uint16_t bits = 0;
  std::memcpy(&bits, p, sizeof bits);
  return bits;
}

float half_at(const uint8_t* p) { return f16_to_f32(bits_at(p)); }

uint32_t word_at(const uint8_t* p) {
  uint32_t word = 0;
  std::memcpy(&word, p, sizeof word);
  return word;
}

// Byte j has element j in its lower half and element j + 16 in its upper one.
void split_32(const uint8_t* bytes, uint8_t* codes) {
  for (int j = 0; j < 16; ++j) {
    codes[j] = bytes[j] & 15;
    codes[j + 16] = bytes[j] >> 4;
  }
}

void look_up(const uint8_t (&levels)[16], int count, uint8_t* codes) {
  for (int j = 0; j < count; ++j) codes[j] = levels[codes[j]];
}

void add_fifth_bits(uint32_t bits, uint8_t* codes) {
  for (int j = 0; j < 32; ++j) codes[j] = static_cast<uint8_t>(codes[j] | ((bits >> j & 1) << 4));
}

void decode_q8_0(const uint8_t* b, DecodedBlock* out) {
  out->scales[0] = half_at(b);
  for (int j = 0; j < 32; ++j) out->codes[j] = b[2 + j] ^ 128;
}

void decode_q4_0(const uint8_t* b, DecodedBlock* out) {
  out->scales[0] = half_at(b);
  split_32(b + 2, out->codes);
}

void decode_q4_1(const uint8_t* b, DecodedBlock* out) {
  out->scales[0] = half_at(b);
  out->biases[0] = half_at(b + 2);
  split_32(b + 4, out->codes);
}

void decode_q5_0(const uint8_t* b, DecodedBlock* out) {
  out->scales[0] = half_at(b);
  split_32(b + 6, out->codes);
  add_fifth_bits(word_at(b + 2), out->codes);
}

void decode_q5_1(const uint8_t* b, DecodedBlock* out) {
  out->scales[0] = half_at(b);
  out->biases[0] = half_at(b + 2);
  split_32(b + 8, out->codes);
  add_fifth_bits(word_at(b + 4), out->codes);
}

void decode_iq4_nl(const uint8_t* b, DecodedBlock* out) {
  decode_q4_0(b, out);
  look_up(kIq4Levels, 32, out->codes);
}

// Half of 2^(e - 127), which may be subnormal.
float half_power(uint8_t e) {
  const uint32_t bits = e < 2 ? 0x00200000u << e : static_cast<uint32_t>(e - 1) << 23;
  return std::bit_cast<float>(bits);
}

void decode_mxfp4(const uint8_t* b, DecodedBlock* out) {
  out->scales[0] = half_power(b[0]);
  split_32(b + 1, out->codes);
  look_up(kFp4Levels, 32, out->codes);
}

// Four bits of exponent and three of fraction, no sign; the one that is no number reads 0.
float unsigned_e4m3(uint8_t v) {
  if ((v & 0x7f) == 0x7f) return 0.0f;
  const auto exponent = static_cast<uint32_t>(v >> 3 & 15), fraction = static_cast<uint32_t>(v & 7);
  if (exponent == 0) return static_cast<float>(fraction) / 512.0f;
  return std::bit_cast<float>((exponent + 120) << 23 | fraction << 20);
}

void decode_nvfp4(const uint8_t* b, DecodedBlock* out) {
  for (int i = 0; i < 4; ++i) {
    out->scales[i] = unsigned_e4m3(b[i]) * 0.5f;
    for (int j = 0; j < 8; ++j) {
      out->codes[16 * i + j] = kFp4Levels[b[4 + 8 * i + j] & 15];
      out->codes[16 * i + 8 + j] = kFp4Levels[b[4 + 8 * i + j] >> 4];
    }
  }
}

// 32 codes whose scales lie elsewhere.
void decode_nvfp4_split(const uint8_t* b, const uint8_t* scales, DecodedBlock* out) {
  for (int i = 0; i < 2; ++i) {
    out->scales[i] = e4m3_to_f32(scales[i]) * 0.5f;
    out->biases[i] = 0;
  }
  for (int j = 0; j < 16; ++j) {
    out->codes[2 * j] = kFp4Levels[b[j] & 15];
    out->codes[2 * j + 1] = kFp4Levels[b[j] >> 4];
  }
}

// Two bits each, the four of a byte 32 elements apart.
void split_quarters(const uint8_t* bytes, uint8_t* codes) {
  for (int half = 0; half < 2; ++half)
    for (int part = 0; part < 4; ++part)
      for (int j = 0; j < 32; ++j) codes[128 * half + 32 * part + j] = bytes[32 * half + j] >> (2 * part) & 3;
}

void products_q2_k(const uint8_t* b, BlockProducts* out) {
  out->factor = bits_at(b + 80);
  out->least_factor = bits_at(b + 82);
  for (int i = 0; i < 16; ++i) {
    out->scales[i] = static_cast<int8_t>(b[i] & 15);
    out->least[i] = static_cast<int8_t>(b[i] >> 4);
  }
}

void decode_q2_k(const uint8_t* b, DecodedBlock* out) { split_quarters(b + 16, out->codes); }

void products_q3_k(const uint8_t* b, BlockProducts* out) {
  out->factor = bits_at(b + 108);
  const uint8_t* c = b + 96;
  for (int i = 0; i < 16; ++i) {
    const int low = i < 8 ? c[i] & 15 : c[i - 8] >> 4;
    const int high = c[8 + i % 4] >> (2 * (i / 4)) & 3;
    out->scales[i] = static_cast<int8_t>((low | high << 4) - 32);
  }
}

void decode_q3_k(const uint8_t* b, DecodedBlock* out) {
  split_quarters(b + 32, out->codes);
  for (int e = 0; e < 256; ++e)
    out->codes[e] = static_cast<uint8_t>(out->codes[e] | ((b[e % 32] >> (e / 32) & 1) << 2));
}

// Six bits each of scale and minimum of eight groups of 32.
void products_k(const uint8_t* b, BlockProducts* out) {
  out->factor = bits_at(b);
  out->least_factor = bits_at(b + 2);
  const uint8_t* c = b + 4;
  for (int i = 0; i < 8; ++i) {
    out->scales[i] = static_cast<int8_t>(i < 4 ? c[i] & 63 : (c[i + 4] & 15) | (c[i - 4] >> 6) << 4);
    out->least[i] = static_cast<int8_t>(i < 4 ? c[i + 4] & 63 : (c[i + 4] >> 4) | (c[i] >> 6) << 4);
  }
}

// Of 32 bytes, the lower halves are one group and the upper ones the next.
void split_64s(const uint8_t* bytes, uint8_t* codes) {
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 32; ++j) {
      codes[64 * i + j] = bytes[32 * i + j] & 15;
      codes[64 * i + 32 + j] = bytes[32 * i + j] >> 4;
    }
}

void decode_q4_k(const uint8_t* b, DecodedBlock* out) { split_64s(b + 16, out->codes); }

void decode_q5_k(const uint8_t* b, DecodedBlock* out) {
  split_64s(b + 48, out->codes);
  for (int e = 0; e < 256; ++e)
    out->codes[e] = static_cast<uint8_t>(out->codes[e] | ((b[16 + e % 32] >> (e / 32) & 1) << 4));
}

void products_q6_k(const uint8_t* b, BlockProducts* out) {
  out->factor = bits_at(b + 208);
  std::memcpy(out->scales, b + 192, sizeof out->scales);
}

void decode_q6_k(const uint8_t* b, DecodedBlock* out) {
  for (int p = 0; p < 2; ++p)
    for (int part = 0; part < 4; ++part)
      for (int j = 0; j < 32; ++j) {
        const int low = b[64 * p + 32 * (part % 2) + j] >> (part < 2 ? 0 : 4) & 15;
        const int high = b[128 + 32 * p + j] >> (2 * part) & 3;
        out->codes[128 * p + 32 * part + j] = static_cast<uint8_t>(low | high << 4);
      }
}

void products_iq4_xs(const uint8_t* b, BlockProducts* out) {
  out->factor = bits_at(b);
  const int high_bits = b[2] | b[3] << 8;
  for (int i = 0; i < 8; ++i) {
    const int low = b[4 + i / 2] >> (i % 2 == 0 ? 0 : 4) & 15;
    out->scales[i] = static_cast<int8_t>((low | (high_bits >> (2 * i) & 3) << 4) - 32);
  }
}

void decode_iq4_xs(const uint8_t* b, DecodedBlock* out) {
  for (int i = 0; i < 8; ++i) split_32(b + 8 + 16 * i, out->codes + 32 * i);
  look_up(kIq4Levels, 256, out->codes);
}

void multiply_out(const BlockProducts& products, bool least, DecodedBlock* out) {
  const float factor = f16_to_f32(products.factor), least_factor = f16_to_f32(products.least_factor);
  for (int i = 0; i < kMostBlockGroups; ++i) out->scales[i] = factor * static_cast<float>(products.scales[i]);
  if (!least) return;
  for (int i = 0; i < kMostBlockGroups; ++i) out->biases[i] = -(least_factor * static_cast<float>(products.least[i]));
}

bool has_biases(WeightFormat f) {
  return f == WeightFormat::q4_1 || f == WeightFormat::q5_1 || f == WeightFormat::q2_k || f == WeightFormat::q4_k ||
         f == WeightFormat::q5_k;
}

}  // namespace

void read_products(WeightFormat format, const void* block, BlockProducts* out) {
  const auto* b = static_cast<const uint8_t*>(block);
  *out = {};
  switch (format) {
    case WeightFormat::q2_k: return products_q2_k(b, out);
    case WeightFormat::q3_k: return products_q3_k(b, out);
    case WeightFormat::q4_k:
    case WeightFormat::q5_k: return products_k(b, out);
    case WeightFormat::q6_k: return products_q6_k(b, out);
    case WeightFormat::iq4_xs: return products_iq4_xs(b, out);
    default: break;
  }
  CHECK(false);
}

void decode_block(WeightFormat format, const void* block, DecodedBlock* out) {
  const auto* b = static_cast<const uint8_t*>(block);
  const bool biases = has_biases(format);
  if (!biases) std::memset(out->biases, 0, sizeof out->biases);
  if (has_products(format)) {
    BlockProducts products;
    read_products(format, block, &products);
    multiply_out(products, biases, out);
  }
  switch (format) {
    case WeightFormat::q8_0: return decode_q8_0(b, out);
    case WeightFormat::q4_0: return decode_q4_0(b, out);
    case WeightFormat::q4_1: return decode_q4_1(b, out);
    case WeightFormat::q5_0: return decode_q5_0(b, out);
    case WeightFormat::q5_1: return decode_q5_1(b, out);
    case WeightFormat::iq4_nl: return decode_iq4_nl(b, out);
    case WeightFormat::mxfp4: return decode_mxfp4(b, out);
    case WeightFormat::nvfp4: return decode_nvfp4(b, out);
    case WeightFormat::q2_k: return decode_q2_k(b, out);
    case WeightFormat::q3_k: return decode_q3_k(b, out);
    case WeightFormat::q4_k: return decode_q4_k(b, out);
    case WeightFormat::q5_k: return decode_q5_k(b, out);
    case WeightFormat::q6_k: return decode_q6_k(b, out);
    case WeightFormat::iq4_xs: return decode_iq4_xs(b, out);
    default: break;
  }
  CHECK(false);
}

void decode_block(const Matrix& w, int64_t row, int32_t b, DecodedBlock* out) {
  const auto* block = static_cast<const uint8_t*>(w.values) + row * static_cast<int64_t>(w.row_value_bytes()) +
                      int64_t{b} * block_shape(w.format).bytes;
  if (w.format != WeightFormat::nvfp4_split) return decode_block(w.format, block, out);
  const auto* scales = static_cast<const uint8_t*>(w.scales) + row * static_cast<int64_t>(w.row_scale_bytes());
  decode_nvfp4_split(block, scales + 2 * int64_t{b}, out);
}

void limit_block(WeightFormat format, float largest, void* block) {
  auto* const b = static_cast<uint8_t*>(block);
  // What codes, and scales within the block, multiply at most.
  const auto put = [&](size_t at, float most) {
    const uint16_t half = f32_to_f16(largest / most);
    std::memcpy(b + at, &half, sizeof half);
  };
  switch (format) {
    case WeightFormat::q8_0: return put(0, 128);
    case WeightFormat::q4_0: return put(0, 8);
    case WeightFormat::q5_0: return put(0, 16);
    case WeightFormat::iq4_nl: return put(0, 128);
    case WeightFormat::iq4_xs: return put(0, 32 * 128);
    case WeightFormat::q3_k: return put(108, 32 * 4);
    case WeightFormat::q6_k: return put(208, 128 * 32);
    case WeightFormat::q4_1: return put(0, 15), put(2, -1);
    case WeightFormat::q5_1: return put(0, 31), put(2, -1);
    case WeightFormat::q2_k: return put(80, 15 * 3), put(82, 15);
    case WeightFormat::q4_k: return put(0, 63 * 15), put(2, 63);
    case WeightFormat::q5_k: return put(0, 63 * 31), put(2, 63);
    case WeightFormat::mxfp4: b[0] = static_cast<uint8_t>(127 + std::ilogb(largest / 6)); return;
    case WeightFormat::nvfp4:
      for (int i = 0; i < 4; ++i) b[i] = 1;  // the smallest that there is
      return;
    case WeightFormat::nvfp4_split: return;  // its scales lie elsewhere
    default: break;
  }
  CHECK(false);
}

namespace {

void put_elements(const DecodedBlock& decoded, const BlockShape& shape, int32_t zero, float* out) {
  for (int32_t i = 0; i < shape.elements; ++i) {
    const int32_t group = i / shape.group;
    out[i] = decoded.scales[group] * static_cast<float>(decoded.codes[i] - zero) + decoded.biases[group];
  }
}

}  // namespace

void dequantise_blocks(WeightFormat format, const void* blocks, int64_t elements, float* out) {
  const BlockShape shape = block_shape(format);
  const auto* b = static_cast<const uint8_t*>(blocks);
  DecodedBlock decoded;
  for (int64_t e = 0; e < elements; e += shape.elements, b += shape.bytes) {
    decode_block(format, b, &decoded);
    put_elements(decoded, shape, block_zero(format), out + e);
  }
}

void dequantise_blocks(const Matrix& w, int64_t row, float* out) {
  const BlockShape shape = block_shape(w.format);
  DecodedBlock decoded;
  for (int32_t b = 0; b < w.cols / shape.elements; ++b) {
    decode_block(w, row, b, &decoded);
    put_elements(decoded, shape, block_zero(w.format), out + int64_t{b} * shape.elements);
  }
}

}  // namespace paceline
