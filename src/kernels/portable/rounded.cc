#include "kernels/portable/rounded.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "tensor/dtype.h"

namespace paceline::kernels::portable {
namespace {

// Numbers of a head are about 1: the largest that are still told apart are 28, the smallest 1 / 8192.
constexpr float kE4m3Scale = 16;
constexpr size_t kQ40Group = 32;
// The best levels of four bits for a Gaussian, as bytes, and how many of its standard deviations the last one is.
constexpr std::array<int, 8> kLevels = {6, 18, 31, 44, 58, 75, 96, 127};
constexpr float kLastLevel = 2.7326f;

// Of two that are equally near, the smaller.
float nearest_level(float size) {
  size_t at = 0;
  while (at + 1 < kLevels.size() && size > static_cast<float>(kLevels[at] + kLevels[at + 1]) / 2) ++at;
  return static_cast<float>(kLevels[at]);
}

// In the order of the butterflies: neighbours first.
float sum_of_squares(std::span<const float> x) {
  std::vector<float> squares(x.size());
  std::transform(x.begin(), x.end(), squares.begin(), [](float v) { return v * v; });
  for (size_t stride = 1; stride < squares.size(); stride *= 2)
    for (size_t i = 0; i + stride < squares.size(); i += 2 * stride) squares[i] += squares[i + stride];
  return squares.front();
}

void round_block_q4(std::span<float> x) {
  const float rms = std::sqrt(sum_of_squares(x) / static_cast<float>(x.size()));
  const float scale = bf16_to_f32(f32_to_bf16(rms * kLastLevel / 127.0f));
  for (float& v : x) v = scale > 0 ? std::copysign(nearest_level(std::fabs(v) / scale) * scale, v) : 0.0f;
}

}  // namespace

float to_e4m3(float x) {
  if (!(std::fabs(x) > 0)) return x;
  const float size = std::min(std::fabs(x), 448.0f);
  const int exponent = std::max(-6, std::ilogb(size));
  const float step = std::ldexp(1.0f, exponent - 3);
  return std::copysign(std::min(448.0f, std::nearbyint(size / step) * step), x);
}

void round_e4m3(std::span<float> x) {
  for (float& v : x) v = to_e4m3(v * kE4m3Scale) / kE4m3Scale;
}

void round_q4_0(std::span<float> x) {
  for (size_t first = 0; first < x.size(); first += kQ40Group) {
    const std::span<float> group = x.subspan(first, std::min(kQ40Group, x.size() - first));
    const float largest =
        *std::max_element(group.begin(), group.end(), [](float a, float b) { return std::fabs(a) < std::fabs(b); });
    const float scale = f16_to_f32(f32_to_f16(largest / -8.0f));
    for (float& v : group) v = scale != 0 ? std::clamp(std::nearbyint(v / scale), -8.0f, 7.0f) * scale : 0.0f;
  }
}

void round_q4(const Rotation& rotation, int32_t first, std::span<float> x) {
  const auto block = static_cast<size_t>(rotation.block());
  rotation.turn(x.data(), first, static_cast<int32_t>(x.size()));
  for (size_t at = 0; at < x.size(); at += block) round_block_q4(x.subspan(at, block));
  rotation.turn_back(x.data(), first, static_cast<int32_t>(x.size()));
}

void round_q8(const Rotation& rotation, int32_t first, std::span<float> x) {
  const auto count = static_cast<int32_t>(x.size());
  std::vector<int8_t> codes(x.size());
  rotation.turn(x.data(), first, count);
  const float scale = encode(x.data(), count, codes.data());
  std::transform(codes.begin(), codes.end(), x.begin(), [&](int8_t code) { return static_cast<float>(code) * scale; });
  rotation.turn_back(x.data(), first, count);
}

}  // namespace paceline::kernels::portable
