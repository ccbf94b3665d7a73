#include "weights/quantised/affine.h"

#include <fmt/format.h>

#include <cstring>

namespace paceline {

AffineGroups::AffineGroups(int64_t in_file_, int64_t cols) : in_file(in_file_) {
  for (const int32_t size : {128, 64, 32}) {
    if (in_file * size != cols && !(in_file == 1 && cols % size == 0)) continue;
    group = size;
    groups = cols / size;
    return;
  }
}

int32_t affine_bits(int64_t words, int64_t cols) {
  for (const int32_t bits : {4, 8})
    if (words * 32 == cols * bits) return bits;
  return 0;
}

void begin_affine(const QuantisedModule& module, int32_t bits, const AffineGroups& groups, Matrix* out) {
  out->format = bits == 8 ? WeightFormat::q8 : WeightFormat::q4;
  out->rows = static_cast<int32_t>(module.all_rows());
  out->cols = static_cast<int32_t>(module.cols());
  out->group = groups.group;
}

Result<const int32_t*> column_order(QuantisedModule& module, std::string_view part, int64_t groups) {
  const int32_t* none = nullptr;
  if (!module.has(part)) return none;
  const int64_t cols = module.cols(), group = cols / groups;
  TRY_ASSIGN(const TensorView* of, module.take(part, DType::i32, {cols}));
  std::vector<int64_t> next(static_cast<size_t>(groups));
  auto* const order = module.memory<int32_t>(static_cast<size_t>(cols));
  bool moved = false;
  for (int64_t c = 0; c < cols; ++c) {
    const auto g = static_cast<int32_t>(word_element(*of, static_cast<size_t>(c)));
    if (g < 0 || g >= groups)
      return module.wrong(part, fmt::format("expected groups from 0 to {}, found {} at {}", groups - 1, g, c));
    int64_t& used = next[static_cast<size_t>(g)];
    if (used == group)
      return module.wrong(part, fmt::format("expected {} columns of each group, found more of group {}", group, g));
    order[g * group + used] = static_cast<int32_t>(c);
    ++used;
    moved |= g != c / group;
  }
  return moved ? order : none;
}

void reorder_columns(QuantisedModule& module, const int32_t* order, Matrix* out) {
  const size_t row_bytes = out->row_value_bytes();
  const auto* const from = static_cast<const uint8_t*>(out->values);
  auto* const to = module.memory<uint8_t>(static_cast<size_t>(out->rows) * row_bytes);
  const bool nibbles = out->format == WeightFormat::q4;
  module.pool().run(out->rows, 16, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      const uint8_t* const row = from + static_cast<size_t>(n) * row_bytes;
      uint8_t* const made = to + static_cast<size_t>(n) * row_bytes;
      std::memset(made, 0, row_bytes);
      for (int32_t j = 0; j < out->cols; ++j) {
        const int32_t c = order[j];
        if (nibbles)
          made[j / 2] = static_cast<uint8_t>(made[j / 2] | (row[c / 2] >> (c % 2 * 4) & 15) << (j % 2 * 4));
        else
          made[j] = row[c];
      }
    }
  });
  out->values = to;
  out->columns = order;
}

}  // namespace paceline
