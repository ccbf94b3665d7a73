#include "weights/quantizer.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>

#include "base/check.h"

namespace paceline {
namespace {

// The least scale, MLX's.
constexpr float kLeastScale = 1e-7f;
constexpr int64_t kRowsPerPiece = 16;

struct Affine {
  float scale = 0;
  float bias = 0;
};

// The step that spans the group, then stretched so that the larger end is an exact multiple of it: zero stays
// representable, and the end itself is.
Affine fit(std::span<const float> group, float steps) {
  const auto [low, high] = std::minmax_element(group.begin(), group.end());
  const bool low_is_larger = std::abs(*low) > std::abs(*high);
  const float step = std::max((*high - *low) / steps, kLeastScale);
  const float edge = low_is_larger ? *low : *high;
  Affine affine{low_is_larger ? step : -step, 0};
  const float multiple = std::rint(edge / affine.scale);
  if (multiple != 0) affine = {edge / multiple, edge};
  return affine;
}

void quantise_group(std::span<const float> group, Affine affine, QuantSpec spec, uint8_t* packed) {
  const auto steps = static_cast<float>((1 << spec.bits) - 1);
  const auto level = [&](float weight) {
    const float q = std::rint((weight - affine.bias) / affine.scale);
    return static_cast<uint8_t>(q > 0 ? std::min(q, steps) : 0.0f);  // in this order NaN, too, becomes 0
  };
  if (spec.bits == 8) {
    for (size_t i = 0; i < group.size(); ++i) packed[i] = level(group[i]);
    return;
  }
  for (size_t i = 0; i < group.size(); i += 2) {
    packed[i / 2] = static_cast<uint8_t>(level(group[i]) | (level(group[i + 1]) << 4));
  }
}

bool all_finite(std::span<const float> row) {
  return std::all_of(row.begin(), row.end(), [](float f) { return std::isfinite(f); });
}

bool quantise_row(std::span<const float> row, QuantSpec spec, int64_t number, QuantisedRows* out) {
  if (!all_finite(row)) return false;
  const auto cols = static_cast<int64_t>(row.size());
  const auto group = static_cast<size_t>(spec.group);
  uint8_t* packed = out->packed.data() + number * spec.packed_bytes(cols);
  uint16_t* scales = out->scales.data() + number * spec.scale_count(cols);
  uint16_t* biases = out->biases.data() + number * spec.scale_count(cols);
  for (size_t start = 0; start < row.size(); start += group) {
    const auto weights = row.subspan(start, group);
    const Affine affine = fit(weights, static_cast<float>((1 << spec.bits) - 1));
    *scales = f32_to_bf16(affine.scale);
    *biases = f32_to_bf16(affine.bias);
    quantise_group(weights, {bf16_to_f32(*scales++), bf16_to_f32(*biases++)}, spec, packed);
    packed += spec.packed_bytes(spec.group);
  }
  return true;
}

}  // namespace

void read_weight_row(const WeightRows& weights, int64_t row, std::span<float> out) {
  const std::byte* at = weights.values + static_cast<size_t>(row * weights.cols) * dtype_bytes(weights.dtype);
  if (weights.dtype == DType::f32) {
    std::memcpy(out.data(), at, out.size_bytes());
    return;
  }
  for (size_t i = 0; i < out.size(); ++i) {
    uint16_t half = 0;
    std::memcpy(&half, at + 2 * i, sizeof half);
    out[i] = weights.dtype == DType::bf16 ? bf16_to_f32(half) : f16_to_f32(half);
  }
}

bool quantise_rows(const WeightRows& weights, QuantSpec spec, ThreadPool& pool, QuantisedRows* out) {
  CHECK(spec.bits == 4 || spec.bits == 8);
  CHECK(spec.group > 0 && spec.group % 2 == 0 && weights.cols % spec.group == 0);
  out->packed.resize(static_cast<size_t>(weights.rows * spec.packed_bytes(weights.cols)));
  out->scales.resize(static_cast<size_t>(weights.rows * spec.scale_count(weights.cols)));
  out->biases.resize(out->scales.size());
  std::atomic<bool> finite{true};
  pool.run(weights.rows, kRowsPerPiece, [&](int64_t begin, int64_t end) {
    std::vector<float> row(static_cast<size_t>(weights.cols));
    for (int64_t i = begin; i < end; ++i) {
      read_weight_row(weights, i, row);
      if (!quantise_row(row, spec, i, out)) finite.store(false, std::memory_order_relaxed);
    }
  });
  return finite.load();
}

void dequantise_row(const QuantisedRows& rows, QuantSpec spec, int64_t row, std::span<float> out) {
  const auto cols = static_cast<int64_t>(out.size());
  const uint8_t* packed = rows.packed.data() + row * spec.packed_bytes(cols);
  const auto first_scale = static_cast<size_t>(row * spec.scale_count(cols));
  for (size_t i = 0; i < out.size(); ++i) {
    const size_t group = first_scale + i / static_cast<size_t>(spec.group);
    const int q = spec.bits == 8 ? packed[i] : (packed[i / 2] >> (4 * (i % 2))) & 15;
    out[i] = bf16_to_f32(rows.scales[group]) * static_cast<float>(q) + bf16_to_f32(rows.biases[group]);
  }
}

}  // namespace paceline
