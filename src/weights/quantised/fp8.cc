// Eight bits of E4M3 with a scale for the matrix, for each row, or for blocks of 128 rows and columns. Scales of rows
// stay apart as factors, since bf16 holds the numbers alone.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "weights/quantised/formats.h"
#include "weights/safetensors/safetensors.h"

namespace paceline {
namespace {

constexpr int64_t kFp8Block = 128;

int64_t fp8_blocks(int64_t length) { return (length + kFp8Block - 1) / kFp8Block; }

bool fits_fp8(const QuantisedModule& module) {
  const TensorView* weight = module.find(".weight");
  return !module.stacked() && weight != nullptr && weight->dtype == DType::f8_e4m3;
}

void put_row_scales(QuantisedModule& module, const TensorView& scale, bool each, Matrix* out) {
  const auto rows = static_cast<size_t>(module.rows());
  auto* const factors = module.memory<double>(rows);
  for (size_t n = 0; n < rows; ++n) factors[n] = static_cast<double>(float_element(scale, each ? n : 0));
  out->factors = factors;
}

void put_block_scales(QuantisedModule& module, const TensorView& scale, Matrix* out) {
  const auto columns = static_cast<size_t>(fp8_blocks(module.cols())), rows = static_cast<size_t>(module.rows());
  auto* const scales = module.memory<float>(rows * columns);
  for (size_t n = 0; n < rows; ++n)
    for (size_t b = 0; b < columns; ++b)
      scales[n * columns + b] = float_element(scale, n / static_cast<size_t>(kFp8Block) * columns + b);
  out->group = static_cast<int32_t>(kFp8Block);
  out->scale_dtype = DType::f32;
  out->scales = scales;
}

Status check_scales(QuantisedModule& module, const TensorView& scale) {
  int64_t count = 1;
  for (const int64_t length : scale.shape) count *= length;
  for (int64_t i = 0; i < count; ++i)
    if (!std::isfinite(float_element(scale, static_cast<size_t>(i))))
      return module.wrong(".weight_scale", fmt::format("number {} is not finite", i));
  return Done{};
}

Status read_fp8(QuantisedModule& module, Matrix* out) {
  const int64_t rows = module.rows(), cols = module.cols();
  TRY_ASSIGN(const TensorView* weight, module.take(".weight", DType::f8_e4m3, {rows, cols}));
  if (module.has(".weight_packed")) return module.wrong(".weight", "expected it or weight_packed, found both");
  const TensorView* scale = module.find(".weight_scale");
  if (scale == nullptr)
    return module.wrong(".weight",
                        module.has(".weight_scale_inv")
                            ? "has weight_scale_inv: FP8 in DeepSeek's spelling is not read, only weight_scale"
                            : "is F8_E4M3 without a weight_scale");
  using Shape = std::vector<int64_t>;
  const Shape blocks = {fp8_blocks(rows), fp8_blocks(cols)};
  const bool whole = scale->shape.empty() || scale->shape == Shape{1} || scale->shape == Shape{1, 1};
  const bool each = scale->shape == Shape{rows} || scale->shape == Shape{rows, 1};
  if (!whole && !each && scale->shape != blocks)
    return module.wrong(".weight_scale",
                        fmt::format("expected one number, {} or {}, found {}", shape_text(Shape{rows, 1}),
                                    shape_text(blocks), shape_text(scale->shape)));
  TRY(module.take(".weight_scale", std::span(kFloats), scale->shape));
  TRY(check_scales(module, *scale));
  TRY(module.only_numbers(".weight", *weight));
  out->format = WeightFormat::f8;
  out->rows = static_cast<int32_t>(rows);
  out->cols = static_cast<int32_t>(cols);
  out->values = weight->values;
  if (whole || each)
    put_row_scales(module, *scale, each && rows > 1, out);
  else
    put_block_scales(module, *scale, out);
  return Done{};
}

}  // namespace

const QuantisedFormat kFp8Format = {fits_fp8, read_fp8};

}  // namespace paceline
