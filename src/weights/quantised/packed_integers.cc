// compressed-tensors' pack-quantized matrices: integers of 4 or 8 bits in words, lowest bits first, which are the bytes
// that MLX's groups have; their zero lies in the middle or beside them. Experts are modules of their own, or stacks
// whose names have no ".weight".
#include <fmt/format.h>

#include "weights/quantised/affine.h"
#include "weights/quantised/formats.h"
#include "weights/safetensors/safetensors.h"

namespace paceline {
namespace {

bool fits_packed_integers(const QuantisedModule& module) {
  const TensorView* packed = module.find(".weight_packed");
  return packed != nullptr && (module.stacked() || packed->dtype != DType::u8);
}

// Row n, group g of zero points that are packed along the rows of each matrix of a stack.
struct ZeroPoints {
  const TensorView* tensor = nullptr;
  int32_t bits = 0;
  int64_t rows = 0, word_rows = 0, groups = 0;

  [[nodiscard]] int32_t at(int64_t n, size_t g) const {
    if (tensor == nullptr) return 1 << (bits - 1);
    const int64_t in_word = 32 / bits, row = n % rows;
    const int64_t word = (n / rows * word_rows + row / in_word) * groups + static_cast<int64_t>(g);
    return static_cast<int32_t>(word_element(*tensor, static_cast<size_t>(word)) >> (row % in_word * bits) &
                                ((1u << bits) - 1));
  }
};

Result<ZeroPoints> zero_points(QuantisedModule& module, int32_t bits, int64_t groups) {
  ZeroPoints zeros{nullptr, bits, module.rows(), (module.rows() * bits + 31) / 32, groups};
  if (!module.has(".weight_zero_point")) return zeros;
  TRY_ASSIGN(zeros.tensor, module.take(".weight_zero_point", DType::i32, {zeros.word_rows, groups}));
  return zeros;
}

Status read_packed_integers(QuantisedModule& module, Matrix* out) {
  if (module.has(".weight")) return module.wrong(".weight", "expected it or weight_packed, found both");
  const int64_t rows = module.rows(), cols = module.cols();
  const TensorView *packed = module.find(".weight_packed"), *scale = module.find(".weight_scale");
  if (scale == nullptr || packed->shape.empty() || scale->shape.empty())
    return module.wrong(".weight_packed", "expected a matrix, and weight_scale beside it");
  const int32_t bits = affine_bits(packed->shape.back(), cols);
  const AffineGroups groups(scale->shape.back(), cols);
  if (bits == 0 || groups.group == 0) {
    return module.wrong(
        ".weight_packed",
        fmt::format("expected [{}, {}] packed in 4 or 8 bits with groups of 32, 64 or 128 or one scale a row; found "
                    "weight_packed {} and weight_scale {}",
                    rows, cols, shape_text(packed->shape), shape_text(scale->shape)));
  }
  TRY(module.take(".weight_packed", DType::i32, {rows, cols * bits / 32}));
  TRY(module.take(".weight_scale", std::span(kFloats), {rows, groups.in_file}));
  TRY_ASSIGN(const ZeroPoints zeros, zero_points(module, bits, groups.in_file));
  TRY_ASSIGN(const int32_t* order, column_order(module, ".weight_g_idx", groups.in_file));
  module.skip(".weight_shape");
  begin_affine(module, bits, groups, out);
  put_affine_scales(
      module, groups, scale->dtype == DType::bf16 && zeros.tensor == nullptr,
      [&](int64_t n, size_t g) { return float_element(*scale, static_cast<size_t>(n * groups.in_file) + g); },
      [&](int64_t n, size_t g) { return zeros.at(n, g); }, out);
  out->values = module.in_place(*packed);
  if (order != nullptr) reorder_columns(module, order, out);
  return Done{};
}

}  // namespace

const QuantisedFormat kPackedIntegersFormat = {fits_packed_integers, read_packed_integers};

}  // namespace paceline
