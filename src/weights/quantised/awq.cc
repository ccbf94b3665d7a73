// AWQ: nibbles packed along the outputs, in an order of their own, as are the zeros.
#include <fmt/format.h>

#include "weights/quantised/affine.h"
#include "weights/quantised/formats.h"
#include "weights/safetensors/safetensors.h"

namespace paceline {
namespace {

// Where output 8m + i stands in word m, in bits.
constexpr int kAwqShift[8] = {0, 16, 4, 20, 8, 24, 12, 28};

bool fits_awq(const QuantisedModule& module) {
  return module.has(".qweight") && module.declared().method == QuantMethod::awq;
}

// Nibbles row by row.
const void* awq_rows(QuantisedModule& module, const TensorView& words) {
  const int64_t cols = module.cols(), row_words = words.shape[1];
  auto* const made = module.memory<uint8_t>(static_cast<size_t>(module.rows() * cols / 2));
  module.pool().run(row_words, 1, [&](int64_t begin, int64_t end) {
    for (int64_t m = begin; m < end; ++m)
      for (int64_t c = 0; c < cols; c += 2) {
        const uint32_t low = word_element(words, static_cast<size_t>(c * row_words + m));
        const uint32_t high = word_element(words, static_cast<size_t>((c + 1) * row_words + m));
        for (int64_t i = 0; i < 8; ++i)
          made[((8 * m + i) * cols + c) / 2] =
              static_cast<uint8_t>((low >> kAwqShift[i] & 15) | (high >> kAwqShift[i] & 15) << 4);
      }
  });
  return made;
}

Status read_awq(QuantisedModule& module, Matrix* out) {
  if (module.has(".weight")) return module.wrong(".weight", "expected it or qweight, found both");
  const int64_t rows = module.rows(), cols = module.cols();
  const TensorView* scale = module.find(".scales");
  if (scale == nullptr || scale->shape.empty()) return module.wrong(".qweight", "expected scales beside it");
  const AffineGroups groups(scale->shape[0], cols);
  if (groups.group == 0 || rows % 8 != 0)
    return module.wrong(".scales", fmt::format("expected groups of 32, 64 or 128 for [{}, {}], found {}", rows, cols,
                                               shape_text(scale->shape)));
  TRY_ASSIGN(const TensorView* words, module.take(".qweight", DType::i32, {cols, rows / 8}));
  TRY(module.take(".scales", std::span(kFloats), {groups.in_file, rows}));
  TRY_ASSIGN(const TensorView* zeros, module.take(".qzeros", DType::i32, {groups.in_file, rows / 8}));
  begin_affine(module, 4, groups, out);
  put_affine_scales(
      module, groups, false,
      [&](int64_t n, size_t g) {
        return float_element(*scale, g * static_cast<size_t>(rows) + static_cast<size_t>(n));
      },
      [&](int64_t n, size_t g) {
        const uint32_t word = word_element(*zeros, g * static_cast<size_t>(rows / 8) + static_cast<size_t>(n / 8));
        return static_cast<int32_t>(word >> kAwqShift[n % 8] & 15);
      },
      out);
  out->values = awq_rows(module, *words);
  return Done{};
}

}  // namespace

const QuantisedFormat kAwqFormat = {fits_awq, read_awq};

}  // namespace paceline
