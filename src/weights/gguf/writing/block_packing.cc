#include "weights/gguf/writing/block_packing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/check.h"
#include "tensor/dtype.h"

namespace paceline {
namespace {

// The largest scale that a half can hold.
constexpr float kMostScale = 65504.0f;
// How far from the plain scale others are tried, in levels.
constexpr std::array<float, 6> kTried = {-0.9f, -0.6f, -0.3f, 0.3f, 0.6f, 0.9f};

uint16_t as_half(float scale) { return f32_to_f16(std::clamp(scale, -kMostScale, kMostScale)); }

void put_half(uint16_t half, uint8_t* at) { std::memcpy(at, &half, sizeof half); }

// The nearest whole number, of two the even one, of numbers up to 2²²: adding this leaves no bits below one. (A call of
// rint for each weight took most of the time.)
constexpr float kRounder = 12582912.0f;

// Levels are whole numbers, kept as floats. Nothing here but loops of a fixed length without branches: the compiler
// makes vectors of them.
template <size_t N>
using Levels = std::array<float, N>;

// Rounded to a level between the two; level 0 where there is no scale.
template <size_t N>
Levels<N> levels_of(std::span<const float, N> values, float scale, float least, float most) {
  Levels<N> levels{};
  if (scale == 0) {
    levels.fill(std::clamp(0.0f, least, most));
    return levels;
  }
  for (size_t i = 0; i < N; ++i) {
    const float exact = values[i] / scale;
    const float above = exact > least ? exact : least;
    const float within = above < most ? above : most;
    levels[i] = (within + kRounder) - kRounder;
  }
  return levels;
}

int level_of(float value, float scale, float least, float most) {
  return static_cast<int>(levels_of<1>(std::span<const float, 1>(&value, 1), scale, least, most)[0]);
}

// Sums in eight lanes, which are added up in one order.
struct LaneSum {
  static constexpr size_t kLanes = 8;
  std::array<float, kLanes> lanes{};

  [[nodiscard]] double total() const {
    std::array<float, 4> fours{};
    for (size_t i = 0; i < 4; ++i) fours[i] = lanes[i] + lanes[i + 4];
    return static_cast<double>((fours[0] + fours[2]) + (fours[1] + fours[3]));
  }
};

template <size_t N>
double dot(const Levels<N>& a, const Levels<N>& b) {
  LaneSum sum;
  for (size_t start = 0; start < N; start += LaneSum::kLanes)
    for (size_t lane = 0; lane < LaneSum::kLanes; ++lane) sum.lanes[lane] += a[start + lane] * b[start + lane];
  return sum.total();
}

template <size_t N>
double sum_of(const Levels<N>& a) {
  LaneSum sum;
  for (size_t start = 0; start < N; start += LaneSum::kLanes)
    for (size_t lane = 0; lane < LaneSum::kLanes; ++lane) sum.lanes[lane] += a[start + lane];
  return sum.total();
}

template <size_t N>
double squared_error(const Levels<N>& values, const Levels<N>& levels, float scale, float least) {
  Levels<N> off;
  for (size_t i = 0; i < N; ++i) off[i] = values[i] - least - scale * levels[i];
  return dot<N>(off, off);
}

float farthest_from_zero(std::span<const float> values) {
  float found = 0;
  for (const float value : values)
    if (std::abs(value) > std::abs(found)) found = value;
  return found;
}

struct Fit {
  float scale = 0;
  float least = 0;  // what is added: at most 0
  double error = 0;
};

// value = scale · level, levels from -half to half - 1: for given levels the scale of least squared error.
template <size_t N>
Fit symmetric_fit(const Levels<N>& values, float scale, float half) {
  const std::span<const float, N> span(values);
  const Levels<N> levels = levels_of<N>(span, scale, -half, half - 1);
  const double square = dot<N>(levels, levels);
  Fit fit{square > 0 ? static_cast<float>(dot<N>(values, levels) / square) : scale, 0, 0};
  fit.error = squared_error<N>(values, levels_of<N>(span, fit.scale, -half, half - 1), fit.scale, 0);
  return fit;
}

template <size_t N>
float symmetric_scale(std::span<const float, N> span, float half) {
  Levels<N> values;
  std::copy(span.begin(), span.end(), values.begin());
  const float end = farthest_from_zero(values);
  if (end == 0) return 0;
  Fit best = symmetric_fit<N>(values, end / -half, half);
  for (const float more : kTried) {
    const Fit other = symmetric_fit<N>(values, end / -(half + more), half);
    if (other.error < best.error) best = other;
  }
  return best.scale;
}

constexpr size_t kGroup = 32;
using Group = Levels<kGroup>;

Group above(const Group& values, float least) {
  Group raised;
  for (size_t i = 0; i < kGroup; ++i) raised[i] = values[i] - least;
  return raised;
}

Group affine_levels(const Group& values, float scale, float least) {
  const Group raised = above(values, least);
  return levels_of<kGroup>(std::span<const float, kGroup>(raised), scale, 0, 15);
}

// value = scale · level + least, levels from 0 to 15: for given levels both of least squared error, least not above 0.
Fit affine_fit(const Group& values, double value_sum, float scale, float least) {
  const Group levels = affine_levels(values, scale, least);
  const double level_sum = sum_of<kGroup>(levels), square = dot<kGroup>(levels, levels);
  const double product = dot<kGroup>(values, levels);
  const double spread = kGroup * square - level_sum * level_sum;
  Fit fit{scale, least, 0};
  if (spread > 0) {
    fit.scale = static_cast<float>((kGroup * product - level_sum * value_sum) / spread);
    fit.least = static_cast<float>((square * value_sum - level_sum * product) / spread);
    if (fit.least > 0) fit = {square > 0 ? static_cast<float>(product / square) : scale, 0, 0};
  }
  fit.scale = std::max(fit.scale, 0.0f);
  fit.error = squared_error<kGroup>(values, affine_levels(values, fit.scale, fit.least), fit.scale, fit.least);
  return fit;
}

Fit best_affine(std::span<const float, kGroup> span) {
  const auto [low, high] = std::minmax_element(span.begin(), span.end());
  const float least = std::min(*low, 0.0f), most = std::max(*high, 0.0f);
  if (most == least) return {};
  Group values;
  std::copy(span.begin(), span.end(), values.begin());
  const double value_sum = sum_of<kGroup>(values);
  Fit best = affine_fit(values, value_sum, (most - least) / 15, least);
  for (const float more : kTried) {
    const Fit other = affine_fit(values, value_sum, (most - least) / (15 + more), least);
    if (other.error < best.error) best = other;
  }
  return best;
}

// "Nibbles of 32": element j in the low half of byte j, element j + 16 in the high one.
void put_nibbles(std::span<const uint8_t, kGroup> levels, uint8_t* out) {
  for (size_t j = 0; j < 16; ++j) out[j] = static_cast<uint8_t>((levels[j] & 15) | ((levels[j + 16] & 15) << 4));
}

void pack_q8_0(std::span<const float> values, uint8_t* out) {
  const uint16_t half = as_half(std::abs(farthest_from_zero(values)) / 127);
  put_half(half, out);
  const float scale = f16_to_f32(half);
  const Group levels = levels_of<kGroup>(values.first<kGroup>(), scale, -127, 127);
  for (size_t i = 0; i < kGroup; ++i) out[2 + i] = static_cast<uint8_t>(static_cast<int8_t>(levels[i]));
}

// Q4_0 and Q5_0; the fifth bits come before the nibbles.
void pack_symmetric(std::span<const float> values, int half_levels, uint8_t* out) {
  const auto group = values.first<kGroup>();
  const auto most = static_cast<float>(half_levels);
  const uint16_t half = as_half(symmetric_scale<kGroup>(group, most));
  put_half(half, out);
  const Group exact = levels_of<kGroup>(group, f16_to_f32(half), -most, most - 1);
  std::array<uint8_t, kGroup> levels{};
  uint32_t fifth = 0;
  for (size_t i = 0; i < kGroup; ++i) {
    const int level = static_cast<int>(exact[i]) + half_levels;
    levels[i] = static_cast<uint8_t>(level);
    fifth |= static_cast<uint32_t>(level >> 4) << i;
  }
  if (half_levels == 16) std::memcpy(out + 2, &fifth, sizeof fifth);
  put_nibbles(levels, out + (half_levels == 16 ? 6 : 2));
}

// Six bits each of eight scales and eight minimums.
void put_six_bits(const std::array<uint8_t, 8>& scales, const std::array<uint8_t, 8>& mins, uint8_t* out) {
  for (size_t i = 0; i < 4; ++i) {
    out[i] = static_cast<uint8_t>(scales[i] | ((scales[i + 4] >> 4) << 6));
    out[i + 4] = static_cast<uint8_t>(mins[i] | ((mins[i + 4] >> 4) << 6));
    out[i + 8] = static_cast<uint8_t>((scales[i + 4] & 15) | ((mins[i + 4] & 15) << 4));
  }
}

void pack_q4_k(std::span<const float> values, uint8_t* out) {
  std::array<Fit, 8> fits;
  float most_scale = 0, most_min = 0;
  for (size_t i = 0; i < 8; ++i) {
    fits[i] = best_affine(values.subspan(kGroup * i).first<kGroup>());
    most_scale = std::max(most_scale, fits[i].scale);
    most_min = std::max(most_min, -fits[i].least);
  }
  const uint16_t d = as_half(most_scale / 63), dmin = as_half(most_min / 63);
  put_half(d, out);
  put_half(dmin, out + 2);
  std::array<uint8_t, 8> scales{}, mins{};
  std::array<uint8_t, 256> levels{};
  for (size_t i = 0; i < 8; ++i) {
    scales[i] = static_cast<uint8_t>(level_of(fits[i].scale, f16_to_f32(d), 0, 63));
    mins[i] = static_cast<uint8_t>(level_of(-fits[i].least, f16_to_f32(dmin), 0, 63));
    const float scale = f16_to_f32(d) * scales[i], least = f16_to_f32(dmin) * mins[i];
    Group group;
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(kGroup * i), kGroup, group.begin());
    const Group exact = affine_levels(group, scale, -least);
    for (size_t j = 0; j < kGroup; ++j) levels[kGroup * i + j] = static_cast<uint8_t>(exact[j]);
  }
  put_six_bits(scales, mins, out + 4);
  for (size_t part = 0; part < 4; ++part)
    for (size_t j = 0; j < 32; ++j)
      out[16 + 32 * part + j] = static_cast<uint8_t>(levels[64 * part + j] | (levels[64 * part + 32 + j] << 4));
}

void pack_q6_k(std::span<const float> values, uint8_t* out) {
  std::array<float, 16> fits{};
  for (size_t i = 0; i < 16; ++i) fits[i] = symmetric_scale<16>(values.subspan(16 * i).first<16>(), 32);
  const uint16_t d = as_half(farthest_from_zero(fits) / -128);
  put_half(d, out + 208);
  std::memset(out, 0, 192);
  for (size_t i = 0; i < 16; ++i) {
    const int scale = level_of(fits[i], f16_to_f32(d), -128, 127);
    out[192 + i] = static_cast<uint8_t>(static_cast<int8_t>(scale));
    const float step = f16_to_f32(d) * static_cast<float>(scale);
    const Levels<16> exact = levels_of<16>(values.subspan(16 * i).first<16>(), step, -32, 31);
    for (size_t e = 16 * i; e < 16 * i + 16; ++e) {
      const int level = static_cast<int>(exact[e - 16 * i]) + 32;
      const size_t part = e / 128, within = e % 128;
      out[64 * part + within % 64] |= static_cast<uint8_t>((level & 15) << (within < 64 ? 0 : 4));
      out[128 + 32 * part + within % 32] |= static_cast<uint8_t>((level >> 4) << (2 * (within / 32)));
    }
  }
}

}  // namespace

bool can_pack_blocks(WeightFormat format) {
  switch (format) {
    case WeightFormat::q8_0:
    case WeightFormat::q4_0:
    case WeightFormat::q5_0:
    case WeightFormat::q4_k:
    case WeightFormat::q6_k: return true;
    default: return false;
  }
}

void pack_blocks(WeightFormat format, std::span<const float> row, std::byte* out) {
  CHECK(can_pack_blocks(format));
  const BlockShape shape = block_shape(format);
  const auto elements = static_cast<size_t>(shape.elements);
  CHECK(row.size() % elements == 0);
  auto* at = reinterpret_cast<uint8_t*>(out);
  for (size_t start = 0; start < row.size(); start += elements, at += shape.bytes) {
    const auto values = row.subspan(start, elements);
    switch (format) {
      case WeightFormat::q8_0: pack_q8_0(values, at); break;
      case WeightFormat::q4_0: pack_symmetric(values, 8, at); break;
      case WeightFormat::q5_0: pack_symmetric(values, 16, at); break;
      case WeightFormat::q4_k: pack_q4_k(values, at); break;
      default: pack_q6_k(values, at); break;
    }
  }
}

}  // namespace paceline
