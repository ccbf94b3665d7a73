// For tests: modules as quantisers write them, and the numbers that they stand for; written from the formats'
// descriptions, with nothing of the readers.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "model/changed_checkpoint.h"
#include "weights/scratch_folder.h"

namespace paceline {

// A matrix in a file.
struct WrittenModule {
  std::vector<ChangedCheckpoint::One> tensors;
  std::vector<float> values;  // [rows, cols], what they stand for

  template <class T>
  void add(std::string name, DType dtype, std::vector<int64_t> shape, const std::vector<T>& elements) {
    const auto bytes = std::as_bytes(std::span(elements));
    tensors.push_back({{std::move(name), dtype, std::move(shape)}, {bytes.begin(), bytes.end()}});
  }
};

struct FloatMatrix {
  int64_t rows = 0, cols = 0;
  std::vector<float> values;

  [[nodiscard]] float at(int64_t n, int64_t k) const { return values[static_cast<size_t>(n * cols + k)]; }
  // The largest of a rectangle.
  [[nodiscard]] float top(int64_t n, int64_t n_end, int64_t k, int64_t k_end) const {
    float most = 1e-6f;
    for (int64_t i = n; i < std::min(n_end, rows); ++i)
      for (int64_t j = k; j < std::min(k_end, cols); ++j) most = std::max(most, std::fabs(at(i, j)));
    return most;
  }
};

inline float f8_value(int code) {
  const int exponent = code >> 3 & 15, fraction = code & 7;
  const double value = exponent == 0 ? std::ldexp(fraction, -9) : std::ldexp(8 + fraction, exponent - 10);
  return static_cast<float>((code & 128) != 0 ? -value : value);
}

// The nearest of the first so many codes.
inline uint8_t nearest_f8(float value, int codes = 256) {
  static const std::vector<float> values = [] {
    std::vector<float> all;
    for (int code = 0; code < 256; ++code) all.push_back(f8_value(code));
    return all;
  }();
  int best = 0;
  float least = std::fabs(value);
  for (int code = 0; code < codes; ++code) {
    const float off = std::fabs(values[static_cast<size_t>(code)] - value);
    if ((code & 127) != 127 && off < least) best = code, least = off;
  }
  return static_cast<uint8_t>(best);
}

inline constexpr float kFp4Values[16] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6, -0.0f, -0.5f, -1, -1.5f, -2, -3, -4, -6};

template <size_t N>
int nearest_of(const float (&levels)[N], float value) {
  int best = 0;
  for (int i = 0; i < static_cast<int>(N); ++i)
    if (std::fabs(levels[i] - value) < std::fabs(levels[best] - value)) best = i;
  return best;
}

// compressed-tensors (the number for all divides) or ModelOpt (it multiplies).
inline WrittenModule write_nvfp4(const std::string& name, const FloatMatrix& from, bool divides) {
  WrittenModule made;
  const float global = 448.0f * 6.0f / from.top(0, from.rows, 0, from.cols), scale_2 = 1.0f / global;
  std::vector<uint8_t> codes(static_cast<size_t>(from.rows * from.cols / 2)), scales;
  for (int64_t n = 0; n < from.rows; ++n)
    for (int64_t k = 0; k < from.cols; ++k) {
      if (k % 16 == 0) scales.push_back(nearest_f8(from.top(n, n + 1, k, k + 16) / 6.0f * global, 128));
      const float scale = f8_value(scales.back());
      const int code = scale == 0 ? 0 : nearest_of(kFp4Values, from.at(n, k) * global / scale);
      codes[static_cast<size_t>((n * from.cols + k) / 2)] |= static_cast<uint8_t>(code << (k % 2 * 4));
      made.values.push_back(divides ? kFp4Values[code] * scale / global : kFp4Values[code] * scale * scale_2);
    }
  made.add(name + (divides ? ".weight_packed" : ".weight"), DType::u8, {from.rows, from.cols / 2}, codes);
  made.add(name + ".weight_scale", DType::f8_e4m3, {from.rows, from.cols / 16}, scales);
  if (divides) {
    made.add(name + ".weight_global_scale", DType::f32, {1}, std::vector<float>{global});
    made.add(name + ".input_global_scale", DType::f32, {1}, std::vector<float>{77.0f});
  } else {
    made.add(name + ".weight_scale_2", DType::f32, {}, std::vector<float>{scale_2});
    made.add(name + ".input_scale", DType::f32, {}, std::vector<float>{77.0f});
  }
  return made;
}

// Rows and columns that share a scale; 0: all.
struct Fp8Blocks {
  int64_t rows = 0, cols = 0;
  std::vector<int64_t> scale_shape;
  DType dtype = DType::f32;
};

inline WrittenModule write_fp8(const std::string& name, const FloatMatrix& from, const Fp8Blocks& blocks) {
  WrittenModule made;
  const int64_t high = blocks.rows > 0 ? blocks.rows : from.rows, wide = blocks.cols > 0 ? blocks.cols : from.cols;
  std::vector<uint8_t> codes;
  std::vector<float> scales;
  const int64_t across = (from.cols + wide - 1) / wide;
  for (int64_t n = 0; n < from.rows; n += high)
    for (int64_t k = 0; k < from.cols; k += wide) {
      const float scale = from.top(n, n + high, k, k + wide) / 448.0f;
      scales.push_back(blocks.dtype == DType::bf16 ? bf16_to_f32(f32_to_bf16(scale)) : scale);
    }
  for (int64_t n = 0; n < from.rows; ++n)
    for (int64_t k = 0; k < from.cols; ++k) {
      const float scale = scales[static_cast<size_t>(n / high * across + k / wide)];
      codes.push_back(nearest_f8(from.at(n, k) / scale));
      made.values.push_back(f8_value(codes.back()) * scale);
    }
  made.add(name + ".weight", DType::f8_e4m3, {from.rows, from.cols}, codes);
  std::vector<uint16_t> halves;
  for (const float scale : scales) halves.push_back(f32_to_bf16(scale));
  if (blocks.dtype == DType::bf16)
    made.add(name + ".weight_scale", DType::bf16, blocks.scale_shape, halves);
  else
    made.add(name + ".weight_scale", DType::f32, blocks.scale_shape, scales);
  return made;
}

// Integers with a scale and a zero for each group: what pack-quantized, GPTQ and AWQ have in common.
struct IntegerGroups {
  int bits = 4;
  int64_t group = 32;
  bool zeros = false;                 // or the middle
  DType dtype = DType::bf16;          // of scales
  std::vector<int32_t> column_group;  // g_idx; none: in order
};

struct IntegerMatrix {
  int64_t groups = 0;
  std::vector<int32_t> codes, zeros;  // without a sign
  std::vector<float> scales, values;
};

inline IntegerMatrix to_integers(const FloatMatrix& from, const IntegerGroups& how) {
  IntegerMatrix made;
  made.groups = from.cols / how.group;
  const int32_t middle = 1 << (how.bits - 1), last = 2 * middle - 1;
  const auto group_of = [&](int64_t k) {
    return how.column_group.empty() ? k / how.group : int64_t{how.column_group[static_cast<size_t>(k)]};
  };
  for (int64_t n = 0; n < from.rows; ++n)
    for (int64_t g = 0; g < made.groups; ++g) {
      float top = 1e-6f;
      for (int64_t k = 0; k < from.cols; ++k)
        if (group_of(k) == g) top = std::max(top, std::fabs(from.at(n, k)));
      const float scale = top / static_cast<float>(middle - 2);
      made.scales.push_back(how.dtype == DType::bf16 ? bf16_to_f32(f32_to_bf16(scale)) : f16_to_f32(f32_to_f16(scale)));
      made.zeros.push_back(how.zeros ? middle + static_cast<int32_t>((n + 3 * g) % 3) - 1 : middle);
    }
  for (int64_t n = 0; n < from.rows; ++n)
    for (int64_t k = 0; k < from.cols; ++k) {
      const auto at = static_cast<size_t>(n * made.groups + group_of(k));
      const auto q = static_cast<int32_t>(std::lround(from.at(n, k) / made.scales[at])) + made.zeros[at];
      made.codes.push_back(std::clamp(q, 0, last));
      made.values.push_back(static_cast<float>(made.codes.back() - made.zeros[at]) * made.scales[at]);
    }
  return made;
}

// numbers[i] in bits i * bits … of a stream of words, row by row.
inline std::vector<uint32_t> packed_words(const std::vector<int32_t>& numbers, int64_t row, int bits) {
  const int64_t in_word = 32 / bits, words = (row + in_word - 1) / in_word;
  const auto rows = static_cast<int64_t>(numbers.size()) / row;
  std::vector<uint32_t> made(static_cast<size_t>(rows * words));
  for (int64_t n = 0; n < rows; ++n)
    for (int64_t k = 0; k < row; ++k)
      made[static_cast<size_t>(n * words + k / in_word)] |=
          static_cast<uint32_t>(numbers[static_cast<size_t>(n * row + k)]) << (k % in_word * bits);
  return made;
}

template <class T>
std::vector<T> turned(const std::vector<T>& from, int64_t rows) {
  const int64_t cols = static_cast<int64_t>(from.size()) / rows;
  std::vector<T> made;
  for (int64_t k = 0; k < cols; ++k)
    for (int64_t n = 0; n < rows; ++n) made.push_back(from[static_cast<size_t>(n * cols + k)]);
  return made;
}

inline std::vector<uint16_t> halves_of(const std::vector<float>& values, DType dtype) {
  std::vector<uint16_t> made;
  for (const float v : values) made.push_back(dtype == DType::bf16 ? f32_to_bf16(v) : f32_to_f16(v));
  return made;
}

// compressed-tensors' pack-quantized. part: ".weight_", or "_" for stacks.
inline WrittenModule write_packed(const std::string& name, const FloatMatrix& from, const IntegerGroups& how) {
  const IntegerMatrix integers = to_integers(from, how);
  WrittenModule made;
  const int64_t in_word = 32 / how.bits;
  made.add(name + ".weight_packed", DType::i32, {from.rows, from.cols / in_word},
           packed_words(integers.codes, from.cols, how.bits));
  made.add(name + ".weight_scale", how.dtype, {from.rows, integers.groups}, halves_of(integers.scales, how.dtype));
  made.add(name + ".weight_shape", DType::i64, {2}, std::vector<int64_t>{from.rows, from.cols});
  if (how.zeros) {
    const std::vector<uint32_t> words = packed_words(turned(integers.zeros, from.rows), from.rows, how.bits);
    made.add(name + ".weight_zero_point", DType::i32, {(from.rows + in_word - 1) / in_word, integers.groups},
             turned(words, integers.groups));
  }
  if (!how.column_group.empty()) made.add(name + ".weight_g_idx", DType::i32, {from.cols}, how.column_group);
  made.values = integers.values;
  return made;
}

// GPTQ. less: zeros are stored one too small.
inline WrittenModule write_gptq(const std::string& name, const FloatMatrix& from, const IntegerGroups& how, bool less) {
  const IntegerMatrix integers = to_integers(from, how);
  const int64_t in_word = 32 / how.bits;
  WrittenModule made;
  made.add(name + ".qweight", DType::i32, {from.cols / in_word, from.rows},
           turned(packed_words(integers.codes, from.cols, how.bits), from.rows));
  made.add(name + ".scales", how.dtype, {integers.groups, from.rows},
           halves_of(turned(integers.scales, from.rows), how.dtype));
  std::vector<int32_t> zeros = turned(integers.zeros, from.rows);
  for (int32_t& zero : zeros) zero = (zero - (less ? 1 : 0)) & ((1 << how.bits) - 1);
  made.add(name + ".qzeros", DType::i32, {integers.groups, from.rows / in_word},
           packed_words(zeros, from.rows, how.bits));
  std::vector<int32_t> columns = how.column_group;
  for (int64_t k = 0; columns.size() < static_cast<size_t>(from.cols); ++k)
    columns.push_back(static_cast<int32_t>(k / how.group));
  made.add(name + ".g_idx", DType::i32, {from.cols}, columns);
  made.values = integers.values;
  return made;
}

// Eight neighbours of each row in the order of AWQ.
inline std::vector<int32_t> in_awq_order(const std::vector<int32_t>& from) {
  constexpr size_t kOrder[8] = {0, 2, 4, 6, 1, 3, 5, 7};
  std::vector<int32_t> made(from.size());
  for (size_t i = 0; i < from.size(); ++i) made[i] = from[i / 8 * 8 + kOrder[i % 8]];
  return made;
}

inline WrittenModule write_awq(const std::string& name, const FloatMatrix& from, const IntegerGroups& how) {
  const IntegerMatrix integers = to_integers(from, how);
  WrittenModule made;
  made.add(name + ".qweight", DType::i32, {from.cols, from.rows / 8},
           packed_words(in_awq_order(turned(integers.codes, from.rows)), from.rows, 4));
  made.add(name + ".qzeros", DType::i32, {integers.groups, from.rows / 8},
           packed_words(in_awq_order(turned(integers.zeros, from.rows)), from.rows, 4));
  made.add(name + ".scales", how.dtype, {integers.groups, from.rows},
           halves_of(turned(integers.scales, from.rows), how.dtype));
  made.values = integers.values;
  return made;
}

// Levels as a file may bring them along; those of nf4 and fp4 are such.
inline constexpr float kOwnLevels[16] = {-1.0f, -0.7f, -0.53f, -0.4f, -0.28f, -0.18f, -0.09f, 0.0f,
                                         0.08f, 0.16f, 0.25f,  0.34f, 0.44f,  0.56f,  0.72f,  1.0f};

inline WrittenModule write_bitsandbytes(const std::string& name, const FloatMatrix& from, const std::string& type,
                                        bool nested) {
  constexpr size_t kBlock = 64, kOuter = 256;
  WrittenModule made;
  std::vector<float> scales;
  for (size_t i = 0; i < from.values.size(); i += kBlock) {
    float top = 1e-6f;
    for (size_t j = i; j < i + kBlock; ++j) top = std::max(top, std::fabs(from.values[j]));
    scales.push_back(top);
  }
  std::string state = fmt::format(R"("quant_type": "{}", "blocksize": {}, "dtype": "bfloat16", "shape": [{}, {}])",
                                  type, kBlock, from.rows, from.cols);
  if (nested) {
    constexpr float kOffset = 0.125f;
    std::vector<float> levels, outer((scales.size() + kOuter - 1) / kOuter);
    for (int i = 0; i < 256; ++i) levels.push_back(static_cast<float>(i - 128) / 127.3f);
    for (size_t i = 0; i < scales.size(); ++i)
      outer[i / kOuter] = std::max(outer[i / kOuter], std::fabs(scales[i] - kOffset));
    std::vector<uint8_t> codes;
    for (size_t i = 0; i < scales.size(); ++i) {
      const float wanted = (scales[i] - kOffset) / outer[i / kOuter] * 127.3f + 128.0f;
      codes.push_back(static_cast<uint8_t>(std::clamp<long>(std::lround(wanted), 0, 255)));
      const float product = levels[codes.back()] * outer[i / kOuter];
      scales[i] = product + kOffset;
    }
    state +=
        fmt::format(R"(, "nested_blocksize": {}, "nested_offset": {}, "nested_dtype": "float32")", kOuter, kOffset);
    made.add(name + ".weight.absmax", DType::u8, {static_cast<int64_t>(codes.size())}, codes);
    made.add(name + ".weight.nested_absmax", DType::f32, {static_cast<int64_t>(outer.size())}, outer);
    made.add(name + ".weight.nested_quant_map", DType::f32, {256}, levels);
  } else {
    made.add(name + ".weight.absmax", DType::f32, {static_cast<int64_t>(scales.size())}, scales);
  }
  std::vector<uint8_t> codes(from.values.size() / 2);
  for (size_t i = 0; i < from.values.size(); ++i) {
    const int code = nearest_of(kOwnLevels, from.values[i] / scales[i / kBlock]);
    codes[i / 2] |= static_cast<uint8_t>(i % 2 == 0 ? code << 4 : code);
    made.values.push_back(kOwnLevels[code] * scales[i / kBlock]);
  }
  made.add(name + ".weight", DType::u8, {static_cast<int64_t>(codes.size()), 1}, codes);
  made.add(name + ".weight.quant_map", DType::f32, {16}, std::vector<float>(kOwnLevels, kOwnLevels + 16));
  const std::string text = "{" + state + "}";
  made.add(name + ".weight.quant_state.bitsandbytes__" + type, DType::u8, {static_cast<int64_t>(text.size())},
           std::vector<char>(text.begin(), text.end()));
  return made;
}

}  // namespace paceline
