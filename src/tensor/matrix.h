// A weight matrix as it lies in a checkpoint: y = W x with W [rows, cols], row-major.
//
// Quantised matrices are MLX's affine groups: element (n, k) = scales[n, k/group] * q + biases[n, k/group],
// q unsigned. Eight bits: one byte each, in order. Four bits: element 2j in the low half of byte j, 2j+1
// in the high half. (MLX stores these bytes as little-endian uint32; the bytes are the same.)
//
// Matrices in blocks are GGUF's: a row is a run of blocks that hold scales and numbers together (tensor/blocks.h).
// Those of safetensors have their scales apart: nvfp4_split (a byte of E4M3 for 16 codes, element 2j in the low half of
// byte j), f8 (E4M3; scales where they differ along a row) and nf4 (16 levels of the matrix's own, element 2j in the
// high half). What is alike along a row of these is its factor.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"

namespace paceline {

enum class WeightFormat : uint8_t {
  none,
  f32,
  f16,
  bf16,
  q8,
  q4,
  f8,
  nf4,
  // In blocks, from here on; the names are GGUF's.
  q8_0,
  q4_0,
  q4_1,
  q5_0,
  q5_1,
  iq4_nl,
  mxfp4,
  nvfp4,
  nvfp4_split,
  q2_k,
  q3_k,
  q4_k,
  q5_k,
  q6_k,
  iq4_xs
};

constexpr bool in_blocks(WeightFormat f) { return f >= WeightFormat::q8_0; }

// Kept as they are in files, with or without a scale for each group of a row's columns.
constexpr bool is_small_float(WeightFormat f) { return f == WeightFormat::f8 || f == WeightFormat::nf4; }

constexpr const char* weight_format_name(WeightFormat f) {
  switch (f) {
    case WeightFormat::none: return "none";
    case WeightFormat::f32: return "f32";
    case WeightFormat::f16: return "f16";
    case WeightFormat::bf16: return "bf16";
    case WeightFormat::q8: return "q8";
    case WeightFormat::q4: return "q4";
    case WeightFormat::f8: return "fp8";
    case WeightFormat::nf4: return "nf4";
    case WeightFormat::q8_0: return "Q8_0";
    case WeightFormat::q4_0: return "Q4_0";
    case WeightFormat::q4_1: return "Q4_1";
    case WeightFormat::q5_0: return "Q5_0";
    case WeightFormat::q5_1: return "Q5_1";
    case WeightFormat::iq4_nl: return "IQ4_NL";
    case WeightFormat::mxfp4: return "MXFP4";
    case WeightFormat::nvfp4: return "NVFP4";
    case WeightFormat::nvfp4_split: return "nvfp4";
    case WeightFormat::q2_k: return "Q2_K";
    case WeightFormat::q3_k: return "Q3_K";
    case WeightFormat::q4_k: return "Q4_K";
    case WeightFormat::q5_k: return "Q5_K";
    case WeightFormat::q6_k: return "Q6_K";
    case WeightFormat::iq4_xs: return "IQ4_XS";
  }
  return "?";
}

// How many elements a block has in how many bytes, and how many of them share a scale.
struct BlockShape {
  int32_t elements = 1, bytes = 0, group = 0;
};

constexpr BlockShape block_shape(WeightFormat f) {
  switch (f) {
    case WeightFormat::q8_0: return {32, 34, 32};
    case WeightFormat::q4_0:
    case WeightFormat::iq4_nl: return {32, 18, 32};
    case WeightFormat::q4_1: return {32, 20, 32};
    case WeightFormat::q5_0: return {32, 22, 32};
    case WeightFormat::q5_1: return {32, 24, 32};
    case WeightFormat::mxfp4: return {32, 17, 32};
    case WeightFormat::nvfp4: return {64, 36, 16};
    case WeightFormat::nvfp4_split: return {32, 16, 16};
    case WeightFormat::q2_k: return {256, 84, 16};
    case WeightFormat::q3_k: return {256, 110, 16};
    case WeightFormat::q4_k: return {256, 144, 32};
    case WeightFormat::q5_k: return {256, 176, 32};
    case WeightFormat::q6_k: return {256, 210, 16};
    case WeightFormat::iq4_xs: return {256, 136, 32};
    default: return {};
  }
}

// The widest matrix that kernels take (the family's widest has 21504 columns); loading checks it.
inline constexpr int32_t kMaxColumns = 65536;

struct Matrix {
  WeightFormat format = WeightFormat::none;
  int32_t rows = 0;                  // outputs, N
  int32_t cols = 0;                  // inputs, K
  int32_t group = 0;                 // q8, q4: 32, 64 or 128, in blocks 16 or 32; divides cols (except of f8)
  bool packed = false;               // values (and scales) in the order of the kernels that will read them
  const void* values = nullptr;      // [rows, cols] of the format
  DType scale_dtype = DType::bf16;   // q8, q4: bf16 or f32; f8, nf4: f32; nvfp4_split: f8_e4m3
  const void* scales = nullptr;      // [rows, cols / group], rounded up
  const void* biases = nullptr;      // [rows, cols / group]
  const double* factors = nullptr;   // [rows], or none: what all of a row is multiplied with besides
  const float* levels = nullptr;     // nf4: [16]
  const int32_t* columns = nullptr;  // [cols], or none: where the columns of the values stand in the matrix
  int32_t row_stride = 0;            // f32, f16, bf16: numbers from one row to the next; 0: cols

  [[nodiscard]] int64_t stride() const { return row_stride > 0 ? row_stride : cols; }
  [[nodiscard]] bool present() const { return format != WeightFormat::none; }
  // In affine groups, with scales and biases apart.
  [[nodiscard]] bool quantised() const { return format == WeightFormat::q8 || format == WeightFormat::q4; }
  [[nodiscard]] size_t row_value_bytes() const {
    switch (format) {
      case WeightFormat::f32: return static_cast<size_t>(cols) * 4;
      case WeightFormat::f16:
      case WeightFormat::bf16: return static_cast<size_t>(cols) * 2;
      case WeightFormat::q8:
      case WeightFormat::f8: return static_cast<size_t>(cols);
      case WeightFormat::q4:
      case WeightFormat::nf4: return static_cast<size_t>(cols) / 2;
      case WeightFormat::none: return 0;
      default: break;
    }
    const BlockShape block = block_shape(format);
    return static_cast<size_t>(cols / block.elements) * static_cast<size_t>(block.bytes);
  }
  // Scales lie apart from the values.
  [[nodiscard]] bool scales_apart() const {
    return quantised() || format == WeightFormat::nvfp4_split || format == WeightFormat::nf4 ||
           (format == WeightFormat::f8 && group > 0);
  }
  // Of scales, and of quantised() ones again of biases.
  [[nodiscard]] size_t row_scale_bytes() const {
    return scales_apart() ? static_cast<size_t>((cols + group - 1) / group) * dtype_bytes(scale_dtype) : 0;
  }
  [[nodiscard]] size_t row_bytes() const {
    const size_t factor = factors != nullptr ? sizeof(double) : 0;
    return row_value_bytes() + row_scale_bytes() * (quantised() ? 2 : 1) + factor;
  }
  [[nodiscard]] size_t bytes() const { return static_cast<size_t>(rows) * row_bytes(); }

  // Rows [first, first + count) as a matrix of their own.
  [[nodiscard]] Matrix row_slice(int64_t first, int32_t count) const {
    Matrix m = *this;
    m.rows = count;
    const auto offset = static_cast<size_t>(first);
    m.values = static_cast<const char*>(values) + offset * row_value_bytes();
    if (scales != nullptr) m.scales = static_cast<const char*>(scales) + offset * row_scale_bytes();
    if (biases != nullptr) m.biases = static_cast<const char*>(biases) + offset * row_scale_bytes();
    if (factors != nullptr) m.factors = factors + first;
    return m;
  }
};

// Whether both are multiplied with rows that were prepared in the same way.
constexpr bool multiply_alike(const Matrix& a, const Matrix& b) {
  return a.group == b.group && a.columns == b.columns &&
         (a.format == b.format || (in_blocks(a.format) && in_blocks(b.format)));
}

// A stack of equal matrices: experts. Matrix e starts `first` rows plus e * stride_rows rows in.
struct MatrixStack {
  Matrix first;  // expert 0
  int32_t count = 0;
  int64_t stride_rows = 0;  // between experts, in rows of the underlying tensor
  size_t stride_bytes = 0;  // between packed experts
  // [count], where they lie anywhere and are not packed; none: in one tensor.
  const Matrix* each = nullptr;

  [[nodiscard]] Matrix at(int32_t e) const {
    if (!first.packed && each != nullptr) return each[e];
    if (!first.packed) return first.row_slice(static_cast<int64_t>(e) * stride_rows, first.rows);
    Matrix m = first;
    m.values = static_cast<const char*>(first.values) + static_cast<size_t>(e) * stride_bytes;
    if (first.factors != nullptr) m.factors = each != nullptr ? each[e].factors : first.factors + e * stride_rows;
    return m;
  }
};

}  // namespace paceline
