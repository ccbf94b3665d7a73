// Element types of checkpoint tensors and buffers.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace paceline {

using TokenId = int32_t;

enum class DType : uint8_t {
  f32,
  f16,
  bf16,
  u8,
  i8,
  u16,
  i16,
  u32,
  i32,
  u64,
  i64,
  f64,
  boolean,
  f8_e4m3,
  f8_e5m2,
  f8_e8m0
};

constexpr bool is_float(DType t) { return t == DType::f32 || t == DType::f16 || t == DType::bf16; }

constexpr size_t dtype_bytes(DType t) {
  switch (t) {
    case DType::u8:
    case DType::i8:
    case DType::boolean:
    case DType::f8_e4m3:
    case DType::f8_e5m2:
    case DType::f8_e8m0: return 1;
    case DType::f16:
    case DType::bf16:
    case DType::u16:
    case DType::i16: return 2;
    case DType::f32:
    case DType::u32:
    case DType::i32: return 4;
    case DType::u64:
    case DType::i64:
    case DType::f64: return 8;
  }
  return 0;
}

constexpr const char* dtype_name(DType t) {
  switch (t) {
    case DType::f32: return "F32";
    case DType::f16: return "F16";
    case DType::bf16: return "BF16";
    case DType::u8: return "U8";
    case DType::i8: return "I8";
    case DType::u16: return "U16";
    case DType::i16: return "I16";
    case DType::u32: return "U32";
    case DType::i32: return "I32";
    case DType::u64: return "U64";
    case DType::i64: return "I64";
    case DType::f64: return "F64";
    case DType::boolean: return "BOOL";
    case DType::f8_e4m3: return "F8_E4M3";
    case DType::f8_e5m2: return "F8_E5M2";
    case DType::f8_e8m0: return "F8_E8M0";
  }
  return "?";
}

// bfloat16 is the upper half of a float32.
inline float bf16_to_f32(uint16_t h) { return std::bit_cast<float>(static_cast<uint32_t>(h) << 16); }

// Round to nearest, ties to even; NaN stays NaN.
inline uint16_t f32_to_bf16(float f) {
  const auto bits = std::bit_cast<uint32_t>(f);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

// Four bits of exponent and three of fraction, no infinity; 0x7f and 0xff are no numbers.
inline float e4m3_to_f32(uint8_t v) {
  const uint32_t sign = static_cast<uint32_t>(v & 0x80u) << 24, magnitude = v & 0x7fu;
  if (magnitude == 0x7f) return std::bit_cast<float>(sign | 0x7fc00000u);
  if (magnitude >= 8) return std::bit_cast<float>(sign | ((magnitude << 20) + (120u << 23)));
  const float small = static_cast<float>(magnitude) * 0x1p-9f;
  return sign != 0 ? -small : small;
}

float f16_to_f32(uint16_t h);
uint16_t f32_to_f16(float f);

}  // namespace paceline
