// GPTQ and AutoRound: integers packed along the inputs, in words that stand transposed; the words of one output, one
// behind the other, are a row of MLX's groups. Zeros are packed along the outputs, and in the older of the two forms
// are stored one too small; where a file says that it is symmetric they are the middle, whatever is stored.
#include <fmt/format.h>

#include <algorithm>

#include "weights/quantised/affine.h"
#include "weights/quantised/formats.h"
#include "weights/safetensors/safetensors.h"

namespace paceline {
namespace {

bool fits_gptq(const QuantisedModule& module) {
  return module.has(".qweight") && module.declared().method != QuantMethod::awq;
}

// Row n of words: column n of the file's.
const void* turned_words(QuantisedModule& module, const TensorView& words) {
  constexpr int64_t kAtOnce = 16;  // outputs whose words share a cache line
  const int64_t outputs = words.shape[1], inputs = words.shape[0];
  auto* const made = module.memory<uint32_t>(static_cast<size_t>(inputs * outputs));
  module.pool().run((outputs + kAtOnce - 1) / kAtOnce, 1, [&](int64_t begin, int64_t end) {
    for (int64_t first = begin * kAtOnce; first < std::min(outputs, end * kAtOnce); first += kAtOnce)
      for (int64_t r = 0; r < inputs; ++r)
        for (int64_t n = first; n < std::min(outputs, first + kAtOnce); ++n)
          made[n * inputs + r] = word_element(words, static_cast<size_t>(r * outputs + n));
  });
  return made;
}

Status read_gptq(QuantisedModule& module, Matrix* out) {
  if (module.declared().method != QuantMethod::gptq)
    return module.wrong(".qweight", "is there, but config.json declares neither gptq, auto-round nor awq");
  if (module.has(".weight")) return module.wrong(".weight", "expected it or qweight, found both");
  const int64_t rows = module.rows(), cols = module.cols();
  const TensorView *words = module.find(".qweight"), *scale = module.find(".scales");
  if (words->shape.empty() || scale == nullptr || scale->shape.empty())
    return module.wrong(".qweight", "expected a matrix, and scales beside it");
  const int32_t bits = affine_bits(words->shape[0], cols);
  const AffineGroups groups(scale->shape[0], cols);
  if (bits == 0 || groups.group == 0 || rows * bits % 32 != 0)
    return module.wrong(
        ".qweight", fmt::format("expected [{}, {}] packed in 4 or 8 bits with groups of 32, 64 or 128 or one scale an "
                                "output; found qweight {} and scales {}",
                                rows, cols, shape_text(words->shape), shape_text(scale->shape)));
  TRY(module.take(".qweight", DType::i32, {cols * bits / 32, rows}));
  TRY(module.take(".scales", std::span(kFloats), {groups.in_file, rows}));
  TRY_ASSIGN(const TensorView* zeros, module.take(".qzeros", DType::i32, {groups.in_file, rows * bits / 32}));
  TRY_ASSIGN(const int32_t* order, column_order(module, ".g_idx", groups.in_file));
  begin_affine(module, bits, groups, out);
  const uint32_t mask = (1u << bits) - 1, more = module.declared().zeros_less_one ? 1 : 0;
  put_affine_scales(
      module, groups, false,
      [&](int64_t n, size_t g) {
        return float_element(*scale, g * static_cast<size_t>(rows) + static_cast<size_t>(n));
      },
      [&](int64_t n, size_t g) {
        if (module.declared().symmetric) return 1 << (bits - 1);
        const int64_t in_word = 32 / bits;
        const uint32_t word =
            word_element(*zeros, g * static_cast<size_t>(rows / in_word) + static_cast<size_t>(n / in_word));
        return static_cast<int32_t>(((word >> (n % in_word * bits) & mask) + more) & mask);
      },
      out);
  out->values = turned_words(module, *words);
  if (order != nullptr) reorder_columns(module, order, out);
  return Done{};
}

}  // namespace

const QuantisedFormat kGptqFormat = {fits_gptq, read_gptq};

}  // namespace paceline
