// Integers of 4 or 8 bits with a scale and a zero for each group, (q - z) * scale, as the affine groups that the
// kernels have: scale * q + bias. The bias -z * scale is exact for scales of 16 bits; a float32's is rounded once.
#pragma once

#include "weights/quantised/module.h"

namespace paceline {

// Groups that the kernels have, and how many of a file's own make one: a scale for a whole row is one for many groups.
struct AffineGroups {
  int32_t group = 0;  // 0: none fits
  int64_t groups = 0, in_file = 0;

  // in_file: scales of a row.
  AffineGroups(int64_t in_file, int64_t cols);
  // The file's group that group g lies in.
  [[nodiscard]] size_t of(int64_t g) const { return static_cast<size_t>(g * in_file / groups); }
};

// Bits that a row of so many words leaves for a column; 0: neither 4 nor 8.
int32_t affine_bits(int64_t words, int64_t cols);

// Format, shape and group; values and scales are still to come.
void begin_affine(const QuantisedModule& module, int32_t bits, const AffineGroups& groups, Matrix* out);

// scale(n, g), zero(n, g): of row n and the file's group g. halves: scales are bf16, and the zero a power of two, so
// that bf16 holds the biases, too.
template <class Scale, class Zero>
void put_affine_scales(QuantisedModule& module, const AffineGroups& groups, bool halves, const Scale& scale,
                       const Zero& zero, Matrix* out) {
  const int64_t rows = module.all_rows(), row = groups.groups;
  const auto count = static_cast<size_t>(rows * row);
  auto* const made_halves = halves ? module.memory<uint16_t>(2 * count) : nullptr;
  auto* const made_floats = halves ? nullptr : module.memory<float>(2 * count);
  module.pool().run(rows, 64, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n)
      for (int64_t g = 0; g < row; ++g) {
        const auto at = static_cast<size_t>(n * row + g);
        const float one = scale(n, groups.of(g)), bias = -static_cast<float>(zero(n, groups.of(g))) * one;
        if (halves)
          made_halves[at] = f32_to_bf16(one), made_halves[count + at] = f32_to_bf16(bias);
        else
          made_floats[at] = one, made_floats[count + at] = bias;
      }
  });
  out->scale_dtype = halves ? DType::bf16 : DType::f32;
  out->scales = halves ? static_cast<const void*>(made_halves) : made_floats;
  out->biases = halves ? static_cast<const void*>(made_halves + count) : made_floats + count;
}

// The tensor `part`, I32 [cols], says for each column which of so many groups it belongs to. What comes back is the
// order of the columns in which groups lie one behind the other, or nullptr where they do already (or no such tensor is
// there).
Result<const int32_t*> column_order(QuantisedModule& module, std::string_view part, int64_t groups);
// Values of out, 4 or 8 bits in file order, with their columns in that order.
void reorder_columns(QuantisedModule& module, const int32_t* order, Matrix* out);

}  // namespace paceline
