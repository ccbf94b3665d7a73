// Norms, rotations and activations over one row, written once for all instruction sets (see math.h for V). Bound by
// arithmetic, and by very little of it: a row is a few kilobytes that lie in the first cache.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "kernels/lanes/math.h"
#include "tensor/matrix.h"

namespace paceline::kernels::lanes {

// A row's last values, fewer than a vector holds; the other lanes are `fill`.
template <class V>
inline typename V::F load_tail(const float* x, int64_t count, float fill) {
  float padded[V::kLanes];
  for (int i = 0; i < V::kLanes; ++i) padded[i] = i < count ? x[i] : fill;
  return V::load(padded);
}

template <class V>
inline void store_tail(float* y, int64_t count, typename V::F value) {
  float padded[V::kLanes];
  V::store(padded, value);
  for (int i = 0; i < count; ++i) y[i] = padded[i];
}

// y[i] = f(y[i], x[i]), some vectors side by side: those of one wait for each other.
template <class V, class Function>
inline void map2(float* y, const float* x, int64_t count, Function f) {
  constexpr int kStep = V::kTogether * V::kLanes;
  int64_t i = 0;
  for (; i + kStep <= count; i += kStep) {
    typename V::F values[V::kTogether];
#pragma GCC unroll 4
    for (int j = 0; j < V::kTogether; ++j)
      values[j] = f(V::load(y + i + j * V::kLanes), V::load(x + i + j * V::kLanes));
#pragma GCC unroll 4
    for (int j = 0; j < V::kTogether; ++j) V::store(y + i + j * V::kLanes, values[j]);
  }
  for (; i + V::kLanes <= count; i += V::kLanes) V::store(y + i, f(V::load(y + i), V::load(x + i)));
  if (i < count)
    store_tail<V>(y + i, count - i, f(load_tail<V>(y + i, count - i, 0), load_tail<V>(x + i, count - i, 0)));
}

// Sum of squares: two accumulators of V::kLanes lanes each, so the order depends on the width alone.
template <class V>
inline float sum_squares(const float* x, int32_t width) {
  auto a = V::set1(0), b = V::set1(0);
  int32_t i = 0;
  for (; i + 2 * V::kLanes <= width; i += 2 * V::kLanes) {
    const auto x0 = V::load(x + i), x1 = V::load(x + i + V::kLanes);
    a = V::fma(x0, x0, a);
    b = V::fma(x1, x1, b);
  }
  for (; i < width; i += V::kLanes) {
    const auto x0 = i + V::kLanes <= width ? V::load(x + i) : load_tail<V>(x + i, width - i, 0);
    a = V::fma(x0, x0, a);
  }
  return V::sum(V::add(a, b));
}

template <class V>
inline float inverse_rms(const float* x, int32_t width, float eps) {
  return 1.0f / std::sqrt(sum_squares<V>(x, width) / static_cast<float>(width) + eps);
}

template <class V>
void rms_norm(const float* x, const float* weight, float* y, int32_t width, float eps, float scale) {
  const auto factor = V::set1(inverse_rms<V>(x, width, eps) * scale);
  const auto apply = [&](auto value, auto w) { return V::mul(V::mul(value, factor), w); };
  int32_t i = 0;
  for (; i + V::kLanes <= width; i += V::kLanes)
    V::store(y + i, apply(V::load(x + i), weight != nullptr ? V::load(weight + i) : V::set1(1)));
  if (i < width)
    store_tail<V>(y + i, width - i,
                  apply(load_tail<V>(x + i, width - i, 0),
                        weight != nullptr ? load_tail<V>(weight + i, width - i, 0) : V::set1(1)));
}

template <class V>
void add_norm(float* x, const float* branch, const float* weight, int32_t width, float eps, float scale) {
  const auto factor = V::set1(inverse_rms<V>(branch, width, eps));
  const auto all = V::set1(scale);
  const auto apply = [&](auto value, auto b, auto w) {
    return V::mul(V::add(value, V::mul(V::mul(b, factor), w)), all);
  };
  int32_t i = 0;
  for (; i + V::kLanes <= width; i += V::kLanes)
    V::store(x + i, apply(V::load(x + i), V::load(branch + i), V::load(weight + i)));
  const int32_t rest = width - i;
  if (rest > 0)
    store_tail<V>(
        x + i, rest,
        apply(load_tail<V>(x + i, rest, 0), load_tail<V>(branch + i, rest, 0), load_tail<V>(weight + i, rest, 0)));
}

template <class V>
void rope(float* x, const float* cos, const float* sin, int32_t width) {
  const int32_t half = width / 2;
  float* const upper = x + half;
  const auto low = [](auto a, auto b, auto c, auto s) { return V::sub(V::mul(a, c), V::mul(b, s)); };
  const auto high = [](auto a, auto b, auto c, auto s) { return V::add(V::mul(b, c), V::mul(a, s)); };
  int32_t i = 0;
  for (; i + V::kLanes <= half; i += V::kLanes) {
    const auto a = V::load(x + i), b = V::load(upper + i), c = V::load(cos + i), s = V::load(sin + i);
    V::store(x + i, low(a, b, c, s));
    V::store(upper + i, high(a, b, c, s));
  }
  const int32_t rest = half - i;
  if (rest <= 0) return;
  const auto a = load_tail<V>(x + i, rest, 0), b = load_tail<V>(upper + i, rest, 0);
  const auto c = load_tail<V>(cos + i, rest, 0), s = load_tail<V>(sin + i, rest, 0);
  store_tail<V>(x + i, rest, low(a, b, c, s));
  store_tail<V>(upper + i, rest, high(a, b, c, s));
}

template <class V>
void gelu_mul(float* y, const float* x, int64_t count) {
  map2<V>(y, x, count, [](auto a, auto b) { return V::mul(gelu<V>(a), b); });
}

template <class V>
void silu_mul(float* y, const float* x, int64_t count) {
  map2<V>(y, x, count, [](auto a, auto b) { return V::mul(silu<V>(a), b); });
}

template <class V>
void add_scaled(float* y, const float* x, float scale, int64_t count) {
  const auto s = V::set1(scale);
  map2<V>(y, x, count, [&](auto a, auto b) { return V::mul(V::add(a, b), s); });
}

template <class V>
void softcap(float* y, float cap, int64_t count) {
  const auto c = V::set1(cap), inverse = V::set1(1.0f / cap);
  map2<V>(y, y, count, [&](auto a, auto) { return V::mul(c, tanh<V>(V::mul(a, inverse))); });
}

template <class V>
void blend(float* y, float keep, const float* x, float part, int64_t count) {
  const auto k = V::set1(keep), p = V::set1(part);
  map2<V>(y, x, count, [&](auto a, auto b) { return V::fma(b, p, V::mul(a, k)); });
}

template <class V>
float max_of(const float* x, int32_t count) {
  typename V::F tops[4] = {V::set1(-INFINITY), V::set1(-INFINITY), V::set1(-INFINITY), V::set1(-INFINITY)};
  int32_t i = 0;
  for (; i + 4 * V::kLanes <= count; i += 4 * V::kLanes)
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) tops[j] = V::max(tops[j], V::load(x + i + j * V::kLanes));
  auto top = V::max(V::max(tops[0], tops[1]), V::max(tops[2], tops[3]));
  for (; i + V::kLanes <= count; i += V::kLanes) top = V::max(top, V::load(x + i));
  if (i < count) top = V::max(top, load_tail<V>(x + i, count - i, -INFINITY));
  return V::top(top);
}

template <class V>
float exp_sum(float* x, float top, int32_t count) {
  const auto t = V::set1(top);
  auto total = V::set1(0);
  constexpr int kStep = V::kTogether * V::kLanes;
  int32_t i = 0;
  for (; i + kStep <= count; i += kStep) {
    typename V::F e[V::kTogether];
#pragma GCC unroll 4
    for (int j = 0; j < V::kTogether; ++j) e[j] = exp<V>(V::sub(V::load(x + i + j * V::kLanes), t));
#pragma GCC unroll 4
    for (int j = 0; j < V::kTogether; ++j) {
      V::store(x + i + j * V::kLanes, e[j]);
      total = V::add(total, e[j]);
    }
  }
  for (; i + V::kLanes <= count; i += V::kLanes) {
    const auto e = exp<V>(V::sub(V::load(x + i), t));
    V::store(x + i, e);
    total = V::add(total, e);
  }
  if (i < count) {
    const auto e = exp<V>(V::sub(load_tail<V>(x + i, count - i, -INFINITY), t));
    store_tail<V>(x + i, count - i, e);
    total = V::add(total, e);
  }
  return V::sum(total);
}

}  // namespace paceline::kernels::lanes
