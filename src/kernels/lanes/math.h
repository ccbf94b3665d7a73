// Elementary functions over vectors of float32, written once for all instruction sets. V is a set's vector:
//   V::F, V::kLanes, kTogether (vectors that elementwise.h computes side by side, at most 4), load, store, set1, add,
//   sub, mul, div, max, fma(a, b, c) = a * b + c, round (to nearest even), pow2 (2^n for integral n in [-126, 127]),
//   zero_below(x, limit, y) = x < limit ? 0 : y, sum (over the lanes, in an order of its own that never changes), sum4
//   (of four vectors, in the same), top (the largest of the lanes, all of them numbers)
// So each set has one exp, one tanh, one gelu and one silu, the same in every kernel.
#pragma once

namespace paceline::kernels::lanes {

// Relative error about 1e-7. Below -87 (where 2^n would be subnormal) the result is exactly 0, -infinity included.
template <class V>
inline typename V::F exp(typename V::F x) {
  using F = typename V::F;
  const F low = V::set1(-87.0f);
  const F n = V::round(V::mul(V::min(V::max(x, low), V::set1(88.0f)), V::set1(1.44269504088896341f)));
  // ln 2 in two parts: the first has few bits, so that n * part is exact.
  F r = V::fma(n, V::set1(-0.693359375f), V::min(V::max(x, low), V::set1(88.0f)));
  r = V::fma(n, V::set1(2.12194440e-4f), r);
  // Taylor to the seventh power: |r| <= ln 2 / 2, so the next term is below 6e-9.
  F p = V::set1(1.0f / 5040.0f);
  p = V::fma(p, r, V::set1(1.0f / 720.0f));
  p = V::fma(p, r, V::set1(1.0f / 120.0f));
  p = V::fma(p, r, V::set1(1.0f / 24.0f));
  p = V::fma(p, r, V::set1(1.0f / 6.0f));
  p = V::fma(p, r, V::set1(0.5f));
  p = V::fma(p, r, V::set1(1.0f));
  p = V::fma(p, r, V::set1(1.0f));
  return V::zero_below(x, low, V::mul(p, V::pow2(n)));
}

// tanh(x) = 1 - 2 / (exp(2x) + 1); absolute error about 1e-7.
template <class V>
inline typename V::F tanh(typename V::F x) {
  const auto e = exp<V>(V::add(x, x));
  return V::sub(V::set1(1.0f), V::div(V::set1(2.0f), V::add(e, V::set1(1.0f))));
}

// The tanh form of GELU: x / 2 * (1 + tanh(u)) = x / (1 + exp(-2u)), u = sqrt(2 / pi) * (x + 0.044715 x^3).
template <class V>
inline typename V::F gelu(typename V::F x) {
  const auto cube = V::mul(V::mul(x, x), x);
  const auto inner = V::fma(V::set1(0.044715f), cube, x);
  const auto e = exp<V>(V::mul(inner, V::set1(-2.0f * 0.7978845608028654f)));
  return V::div(x, V::add(V::set1(1.0f), e));
}

// x * sigmoid(x)
template <class V>
inline typename V::F silu(typename V::F x) {
  return V::div(x, V::add(V::set1(1.0f), exp<V>(V::sub(V::set1(0.0f), x))));
}

}  // namespace paceline::kernels::lanes
