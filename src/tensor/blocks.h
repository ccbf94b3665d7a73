// Blocks of quantised numbers as GGUF files have them: what their bytes stand for, to the last bit.
//
// A block is codes of at most 8 bits, and for each group of them a scale and a bias:
//   element e = scales[e / group] * (codes[e] - zero) + biases[e / group]
// Every scale, every bias and every product of a scale and a code is exact in float32, so that the sum is the only
// rounding, and its order cannot matter.
#pragma once

#include <cstdint>

#include "tensor/matrix.h"

namespace paceline {

inline constexpr int32_t kMostBlockElements = 256;
inline constexpr int32_t kMostBlockGroups = 16;

// Levels of IQ4, and of four-bit floats (doubled), both moved so that none is negative.
inline constexpr uint8_t kIq4Levels[16] = {1, 24, 45, 63, 79, 93, 106, 118, 129, 141, 153, 166, 181, 197, 217, 241};
inline constexpr uint8_t kFp4Levels[16] = {12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0};

struct DecodedBlock {
  uint8_t codes[kMostBlockElements];
  float scales[kMostBlockGroups];
  float biases[kMostBlockGroups];
};

// Scales that are products of a factor for the whole block and a small number for each group; biases likewise, those
// numbers being what is subtracted. Factors are float16, as they lie.
struct BlockProducts {
  uint16_t factor = 0, least_factor = 0;
  int8_t scales[kMostBlockGroups] = {};
  int8_t least[kMostBlockGroups] = {};
};

constexpr bool has_products(WeightFormat f) { return f >= WeightFormat::q2_k; }

// The code that stands for zero.
constexpr int32_t block_zero(WeightFormat f) {
  switch (f) {
    case WeightFormat::q8_0:
    case WeightFormat::iq4_nl:
    case WeightFormat::iq4_xs: return 128;
    case WeightFormat::q6_k: return 32;
    case WeightFormat::q5_0: return 16;
    case WeightFormat::mxfp4:
    case WeightFormat::nvfp4:
    case WeightFormat::nvfp4_split: return 12;
    case WeightFormat::q4_0: return 8;
    case WeightFormat::q3_k: return 4;
    default: return 0;
  }
}

// Of a block of a format that has them, at any address.
void read_products(WeightFormat format, const void* block, BlockProducts* out);
// One block of a format whose blocks hold their scales, at any address.
void decode_block(WeightFormat format, const void* block, DecodedBlock* out);
// Block b of a row of a matrix in blocks as they lie in files.
void decode_block(const Matrix& w, int64_t row, int32_t b, DecodedBlock* out);

// Gives a block scales with which none of its numbers is larger than `largest`, whatever its codes are: for weights
// that are made up.
void limit_block(WeightFormat format, float largest, void* block);

// So many elements, whole blocks.
void dequantise_blocks(WeightFormat format, const void* blocks, int64_t elements, float* out);
// A row of a matrix in blocks as they lie in files, without its factor.
void dequantise_blocks(const Matrix& w, int64_t row, float* out);

}  // namespace paceline
