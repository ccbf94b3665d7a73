// A weight matrix as it lies in a checkpoint: y = W x with W [rows, cols], row-major.
//
// Quantised matrices are MLX's affine groups: element (n, k) = scales[n, k/group] * q + biases[n, k/group],
// q unsigned. Eight bits: one byte each, in order. Four bits: element 2j in the low half of byte j, 2j+1
// in the high half. (MLX stores these bytes as little-endian uint32; the bytes are the same.)
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"

namespace paceline {

enum class WeightFormat : uint8_t { none, f32, f16, bf16, q8, q4 };

constexpr const char* weight_format_name(WeightFormat f) {
  switch (f) {
    case WeightFormat::none: return "none";
    case WeightFormat::f32: return "f32";
    case WeightFormat::f16: return "f16";
    case WeightFormat::bf16: return "bf16";
    case WeightFormat::q8: return "q8";
    case WeightFormat::q4: return "q4";
  }
  return "?";
}

// The widest matrix that kernels take (the family's widest has 21504 columns); loading checks it.
inline constexpr int32_t kMaxColumns = 65536;

struct Matrix {
  WeightFormat format = WeightFormat::none;
  int32_t rows = 0;                 // outputs, N
  int32_t cols = 0;                 // inputs, K
  int32_t group = 0;                // q8, q4: 32, 64 or 128; divides cols
  bool packed = false;              // values (and scales) in the order of the kernels that will read them
  const void* values = nullptr;     // [rows, cols] of the format
  DType scale_dtype = DType::bf16;  // q8, q4: bf16 or f32
  const void* scales = nullptr;     // [rows, cols / group]
  const void* biases = nullptr;     // [rows, cols / group]
  int32_t row_stride = 0;           // f32, f16, bf16: numbers from one row to the next; 0: cols

  [[nodiscard]] int64_t stride() const { return row_stride > 0 ? row_stride : cols; }
  [[nodiscard]] bool present() const { return format != WeightFormat::none; }
  [[nodiscard]] bool quantised() const { return format == WeightFormat::q8 || format == WeightFormat::q4; }
  [[nodiscard]] size_t row_value_bytes() const {
    switch (format) {
      case WeightFormat::f32: return static_cast<size_t>(cols) * 4;
      case WeightFormat::f16:
      case WeightFormat::bf16: return static_cast<size_t>(cols) * 2;
      case WeightFormat::q8: return static_cast<size_t>(cols);
      case WeightFormat::q4: return static_cast<size_t>(cols) / 2;
      case WeightFormat::none: return 0;
    }
    return 0;
  }
  // Of scales, and again of biases.
  [[nodiscard]] size_t row_scale_bytes() const {
    return quantised() ? static_cast<size_t>(cols / group) * dtype_bytes(scale_dtype) : 0;
  }
  [[nodiscard]] size_t bytes() const { return static_cast<size_t>(rows) * (row_value_bytes() + 2 * row_scale_bytes()); }

  // Rows [first, first + count) as a matrix of their own.
  [[nodiscard]] Matrix row_slice(int64_t first, int32_t count) const {
    Matrix m = *this;
    m.rows = count;
    const auto offset = static_cast<size_t>(first);
    m.values = static_cast<const char*>(values) + offset * row_value_bytes();
    if (quantised()) {
      m.scales = static_cast<const char*>(scales) + offset * row_scale_bytes();
      m.biases = static_cast<const char*>(biases) + offset * row_scale_bytes();
    }
    return m;
  }
};

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
    return m;
  }
};

}  // namespace paceline
