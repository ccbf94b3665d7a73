// TensorBinder's part for compressed-tensors' pack-quantized matrices: integers of 4 or 8 bits in words, lowest bits
// first, which are the bytes that MLX's groups have; their zero lies in the middle or beside them, and is a bias here.
#include <fmt/format.h>

#include <cstring>

#include "model/tensor_binder.h"
#include "weights/safetensors/safetensors.h"

namespace paceline {
namespace {

int32_t bits_of_packed(int64_t words, int64_t cols) {
  for (const int32_t bits : {4, 8})
    if (words * 32 == cols * bits) return bits;
  return 0;
}

// The file's own, or of a scale for the whole row the widest that divides it.
int32_t group_of_packed(int64_t scales, int64_t cols) {
  for (const int32_t group : {128, 64, 32})
    if (scales * group == cols || (scales == 1 && cols % group == 0)) return group;
  return 0;
}

// Row n, group g of zero points that are packed along the rows.
int32_t zero_point(const TensorView& zeros, int64_t n, int64_t g, int32_t bits) {
  const int64_t in_word = 32 / bits, groups = zeros.shape[1];
  uint32_t word = 0;
  std::memcpy(&word, zeros.values + static_cast<size_t>((n / in_word) * groups + g) * sizeof word, sizeof word);
  return static_cast<int32_t>(word >> (n % in_word * bits) & ((1u << bits) - 1));
}

}  // namespace

Status TensorBinder::packed_integers(const std::string& name, int64_t rows, int64_t cols, Matrix* out) {
  const TensorView* packed = use_.take(name + ".weight_packed");
  const TensorView* scale = use_.take(name + ".weight_scale");
  (void)use_.take(name + ".weight_shape");
  if (has(name + ".weight_g_idx"))
    return Error{fmt::format("tensor \"{}.weight_g_idx\": groups in another order are not read", name)};
  if (has(name + ".weight")) return Error{fmt::format("{}: expected weight or weight_packed, found both", name)};
  if (scale == nullptr || packed->dtype != DType::i32 || packed->shape.size() != 2 || scale->shape.size() != 2 ||
      !is_float(scale->dtype)) {
    return Error{fmt::format("{}: expected weight_packed as I32 and weight_scale as floats, each a matrix", name)};
  }
  const int32_t bits = bits_of_packed(packed->shape[1], cols), group = group_of_packed(scale->shape[1], cols);
  if (packed->shape[0] != rows || scale->shape[0] != rows || bits == 0 || group == 0) {
    return Error{
        fmt::format("tensor \"{}\": expected [{}, {}] packed in 4 or 8 bits with groups of 32, 64 or 128 or one "
                    "scale a row; found weight_packed {} and weight_scale {}",
                    name, rows, cols, shape_text(packed->shape), shape_text(scale->shape))};
  }
  const TensorView* zeros = nullptr;
  if (has(name + ".weight_zero_point")) {
    TRY_ASSIGN(zeros, take(name + ".weight_zero_point", {(rows * bits + 31) / 32, scale->shape[1]}));
    if (zeros->dtype != DType::i32)
      return Error{
          fmt::format("tensor \"{}.weight_zero_point\": expected I32, found {}", name, dtype_name(zeros->dtype))};
  }
  const int64_t groups = cols / group, apart = scale->shape[1] == 1 && groups > 1 ? groups : 1;
  const auto count = static_cast<size_t>(rows * groups);
  std::shared_ptr<float[]> made(new float[2 * count]);
  for (int64_t n = 0; n < rows; ++n)
    for (int64_t g = 0; g < groups; ++g) {
      const int64_t from = g / apart;
      const float one = float_element(*scale, static_cast<size_t>(n * scale->shape[1] + from));
      const int32_t zero = zeros == nullptr ? 1 << (bits - 1) : zero_point(*zeros, n, from, bits);
      made[static_cast<size_t>(n * groups + g)] = one;
      // Exact: a scale has at most 11 bits, unless it is a float32, whose product is rounded once.
      made[count + static_cast<size_t>(n * groups + g)] = -static_cast<float>(zero) * one;
    }
  owners_.push_back(made);
  out->format = bits == 8 ? WeightFormat::q8 : WeightFormat::q4;
  out->rows = static_cast<int32_t>(rows);
  out->cols = static_cast<int32_t>(cols);
  out->group = group;
  out->scale_dtype = DType::f32;
  out->scales = made.get();
  out->biases = made.get() + count;
  TRY_ASSIGN(out->values, in_place(*packed));
  return Done{};
}

}  // namespace paceline
