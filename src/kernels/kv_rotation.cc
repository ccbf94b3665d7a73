#include "kernels/kv_rotation.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/sign_pattern.h"

namespace paceline::kernels {
namespace {

constexpr int32_t kLargestBlock = 128;

// A head's numbers in order of blocks are four runs of its own order: those that RoPE rotates, of both halves, and then
// the others. f(where in the head, where in the blocks, how many)
template <class F>
void for_runs(const HeadShape& shape, F f) {
  const int32_t half = shape.head_dim / 2, turned = shape.joined / 2;
  f(0, 0, turned);
  f(half, turned, turned);
  f(turned, 2 * turned, half - turned);
  f(half + turned, half + turned, half - turned);
}

}  // namespace

int32_t rotation_block(const HeadShape& shape) {
  const int32_t block = shape.joined > 0 ? shape.joined : std::min(kLargestBlock, shape.head_dim);
  const bool fits = block > 0 && std::has_single_bit(static_cast<uint32_t>(block)) && shape.head_dim % block == 0;
  return fits ? block : 0;
}

Rotation::Rotation(const HeadShape& shape) : block_(rotation_block(shape)) {
  CHECK(block_ > 0);
  signs_ = sign_pattern(kCodeVersion, static_cast<uint32_t>(shape.head_dim));
}

void Rotation::butterflies(float* x, int32_t count) const {
  for (int32_t first = 0; first < count; first += block_)
    for (int32_t stride = 1; stride < block_; stride *= 2)
      for (int32_t i = first; i < first + block_; i += 2 * stride)
        for (int32_t j = i; j < i + stride; ++j) {
          const float a = x[j], b = x[j + stride];
          x[j] = a + b;
          x[j + stride] = a - b;
        }
}

void Rotation::turn(float* x, int32_t first, int32_t count) const {
  const float* signs = signs_.data() + first;
  for (int32_t i = 0; i < count; ++i) x[i] *= signs[i];
  butterflies(x, count);
}

void Rotation::turn_back(float* x, int32_t first, int32_t count) const {
  butterflies(x, count);
  const float* signs = signs_.data() + first;
  const float size = 1.0f / static_cast<float>(block_);
  for (int32_t i = 0; i < count; ++i) x[i] *= signs[i] * size;
}

float encode(const float* x, int32_t count, int8_t* codes) {
  float top = 0;
  bool numbers = true;
  for (int32_t i = 0; i < count; ++i) {
    const float size = std::fabs(x[i]);
    numbers = numbers && size <= std::numeric_limits<float>::max();
    top = std::max(top, size);
  }
  const float inverse = numbers && top > 0 ? 127.0f / top : 0.0f;
  // A number too small to divide by is none.
  if (!numbers || !(inverse > 0 && inverse <= std::numeric_limits<float>::max())) {
    std::fill_n(codes, count, int8_t{0});
    return numbers ? 0.0f : std::numeric_limits<float>::quiet_NaN();
  }
  for (int32_t i = 0; i < count; ++i) codes[i] = static_cast<int8_t>(std::lrintf(x[i] * inverse));
  return top / 127.0f;
}

void order_joined(const HeadShape& shape, const float* from, float* to) {
  for_runs(shape, [&](int32_t at, int32_t place, int32_t count) { std::copy_n(from + at, count, to + place); });
}

void order_back(const HeadShape& shape, const float* from, float* to) {
  for_runs(shape, [&](int32_t at, int32_t place, int32_t count) { std::copy_n(from + place, count, to + at); });
}

}  // namespace paceline::kernels
