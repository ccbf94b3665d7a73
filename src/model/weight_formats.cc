#include "model/weight_formats.h"

#include <fmt/format.h>

#include <string>

namespace paceline {

namespace {

// The format of a matrix that a backend does not take, with what it is about it; or nothing.
std::string what_is_unread(const Matrix& m, const kernels::Limits& limits) {
  const std::string name = weight_format_name(m.format);
  const bool gguf = in_blocks(m.format) && m.format != WeightFormat::nvfp4_split;
  if ((limits.unread & kernels::Limits::format_bit(m.format)) != 0) return name;
  if (!limits.columns && m.columns != nullptr) return name + " with columns in another order";
  if (!limits.scaled_f8 && m.format == WeightFormat::f8 && m.group != 0) return name + " with scales along a row";
  if (!limits.block_factors && gguf && m.factors != nullptr) return name + " with factors";
  return "";
}

}  // namespace

Status check_at_most(const char* what, int32_t found, int32_t most) {
  if (found <= most) return Done{};
  return Error{fmt::format("the model has {} {}; this backend takes at most {}", found, what, most)};
}

Status check_weight_formats(std::span<const Matrix* const> matrices, const kernels::Limits& limits) {
  for (const Matrix* matrix : matrices) {
    const std::string unread = what_is_unread(*matrix, limits);
    if (unread.empty()) continue;
    return Error{
        fmt::format("the model has weights in {}; this backend does not read those yet (--device cpu does)", unread)};
  }
  return Done{};
}

Status check_gates(const Matrix& gate, const Matrix& up, size_t layer, const kernels::Limits& limits) {
  const bool alike = gate.format == up.format && gate.group == up.group && gate.scale_dtype == up.scale_dtype;
  if (!limits.gates_alike || alike) return Done{};
  return Error{fmt::format(
      "layer {}: experts' gate_proj is {} in groups of {}, up_proj {} in groups of {}; this backend takes them in one "
      "format",
      layer, weight_format_name(gate.format), gate.group, weight_format_name(up.format), up.group)};
}

}  // namespace paceline
