// NVFP4: codes of four bits, an E4M3 scale for every 16 of them, and one number for the whole matrix.
// compressed-tensors divides by that number, ModelOpt multiplies with it; otherwise they only differ in names. Codes
// and scales are used where they lie.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "weights/quantised/formats.h"

namespace paceline {
namespace {

bool is_compressed_nvfp4(const QuantisedModule& module) {
  const TensorView* packed = module.find(".weight_packed");
  return packed != nullptr && packed->dtype == DType::u8;
}

bool is_modelopt_nvfp4(const QuantisedModule& module) {
  const TensorView* weight = module.find(".weight");
  return weight != nullptr && weight->dtype == DType::u8 && module.has(".weight_scale_2");
}

bool fits_nvfp4(const QuantisedModule& module) {
  return !module.stacked() && (is_compressed_nvfp4(module) || is_modelopt_nvfp4(module));
}

// What all of the matrix is multiplied with. In double, the reciprocal is good enough: a code times a scale has six
// bits, so that no product with it lies nearer to the middle of two float32 than its error.
Result<double> factor_of(QuantisedModule& module, bool divides) {
  const char* const part = divides ? ".weight_global_scale" : ".weight_scale_2";
  TRY_ASSIGN(const float found, module.number(part));
  if (!std::isfinite(found) || (divides && found == 0))
    return module.wrong(part,
                        fmt::format("expected a finite number{}, found {}", divides ? " to divide by" : "", found));
  return divides ? 1.0 / static_cast<double>(found) : static_cast<double>(found);
}

Status read_nvfp4(QuantisedModule& module, Matrix* out) {
  const bool divides = is_compressed_nvfp4(module);
  const char* const part = divides ? ".weight_packed" : ".weight";
  if (divides && module.has(".weight")) return module.wrong(".weight", "expected it or weight_packed, found both");
  const int64_t rows = module.rows(), cols = module.cols();
  if (cols % 32 != 0) return module.wrong(part, fmt::format("expected a multiple of 32 columns, found {}", cols));
  TRY_ASSIGN(const TensorView* codes, module.take(part, DType::u8, {rows, cols / 2}));
  TRY_ASSIGN(const TensorView* scales, module.take(".weight_scale", DType::f8_e4m3, {rows, cols / 16}));
  TRY(module.only_numbers(".weight_scale", *scales));
  TRY_ASSIGN(const double factor, factor_of(module, divides));
  module.skip(".weight_shape");
  auto* const factors = module.memory<double>(static_cast<size_t>(rows));
  std::fill_n(factors, rows, factor);
  out->format = WeightFormat::nvfp4_split;
  out->rows = static_cast<int32_t>(rows);
  out->cols = static_cast<int32_t>(cols);
  out->group = block_shape(out->format).group;
  out->values = codes->values;
  out->scale_dtype = DType::f8_e4m3;
  out->scales = scales->values;
  out->factors = factors;
  return Done{};
}

}  // namespace

const QuantisedFormat kNvfp4Format = {fits_nvfp4, read_nvfp4};

}  // namespace paceline
