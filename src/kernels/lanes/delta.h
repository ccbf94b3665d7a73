// What recurrent layers need, written once for all instruction sets (see math.h for V). A step of Gated DeltaNet is
// bound by the bytes of its state, read and written once: some columns at a time, few enough that all their keys stay
// in the first cache between the two walks over them.
#pragma once

#include <cstdint>

#include "kernels/cpu_table.h"
#include "kernels/lanes/elementwise.h"
#include "kernels/lanes/math.h"

namespace paceline::kernels::lanes {

template <class V>
void sigmoid_mul(float* y, const float* gate, int64_t count) {
  map2<V>(y, gate, count,
          [](auto a, auto g) { return V::div(a, V::add(V::set1(1.0f), exp<V>(V::sub(V::set1(0.0f), g)))); });
}

template <class V>
void convolve(const Convolution& c, float* y) {
  int32_t at = c.begin;
  for (; at + V::kLanes <= c.end; at += V::kLanes) {
    auto sum = V::set1(0);
    for (int32_t j = 0; j < c.kernel; ++j)
      sum = V::fma(V::load(c.taps + j * c.stride + at), V::load(c.rows[j] + at), sum);
    V::store(y + at, silu<V>(sum));
  }
  const int32_t rest = c.end - at;
  if (rest <= 0) return;
  auto sum = V::set1(0);
  for (int32_t j = 0; j < c.kernel; ++j)
    sum = V::fma(load_tail<V>(c.taps + j * c.stride + at, rest, 0), load_tail<V>(c.rows[j] + at, rest, 0), sum);
  store_tail<V>(y + at, rest, silu<V>(sum));
}

// kVectors vectors of columns from `at` on.
template <class V, int kVectors>
inline void delta_columns(const DeltaStep& s, int32_t at) {
  using F = typename V::F;
  F d[kVectors], o[kVectors];
  for (int i = 0; i < kVectors; ++i) d[i] = o[i] = V::set1(0);
  const float* read = s.state + at;
  for (int32_t key = 0; key < s.keys; ++key, read += s.stride) {
    const F k = V::set1(s.k[key]);
    for (int i = 0; i < kVectors; ++i) d[i] = V::fma(V::load(read + i * V::kLanes), k, d[i]);
  }
  const F decay = V::set1(s.decay), beta = V::set1(s.beta);
  for (int i = 0; i < kVectors; ++i) {
    d[i] = V::mul(beta, V::sub(V::load(s.v + at + i * V::kLanes), V::mul(decay, d[i])));
    V::store(s.d + at + i * V::kLanes, d[i]);
  }
  float* row = s.state + at;
  for (int32_t key = 0; key < s.keys; ++key, row += s.stride) {
    const F k = V::set1(s.k[key]), q = V::set1(s.q[key]);
    for (int i = 0; i < kVectors; ++i) {
      const F now = V::fma(k, d[i], V::mul(V::load(row + i * V::kLanes), decay));
      V::store(row + i * V::kLanes, now);
      o[i] = V::fma(now, q, o[i]);
    }
  }
  for (int i = 0; i < kVectors; ++i) V::store(s.o + at + i * V::kLanes, o[i]);
}

template <class V, int kVectors>
inline void replay_columns(const DeltaStep& s, int32_t at) {
  using F = typename V::F;
  F d[kVectors];
  for (int i = 0; i < kVectors; ++i) d[i] = V::load(s.d + at + i * V::kLanes);
  const F decay = V::set1(s.decay);
  float* row = s.state + at;
  for (int32_t key = 0; key < s.keys; ++key, row += s.stride) {
    const F k = V::set1(s.k[key]);
    for (int i = 0; i < kVectors; ++i)
      V::store(row + i * V::kLanes, V::fma(k, d[i], V::mul(V::load(row + i * V::kLanes), decay)));
  }
}

// Columns that do not fill a vector, in memory that does.
template <class V, class Whole>
inline void delta_rest(const DeltaStep& s, int32_t at, Whole whole) {
  const int32_t rest = s.columns - at;
  float state[kMaxDeltaKeys * V::kLanes], v[V::kLanes] = {}, d[V::kLanes] = {}, o[V::kLanes];
  for (int32_t key = 0; key < s.keys; ++key)
    for (int i = 0; i < V::kLanes; ++i) state[key * V::kLanes + i] = i < rest ? s.state[key * s.stride + at + i] : 0.0f;
  for (int i = 0; i < rest; ++i) {
    if (s.v != nullptr) v[i] = s.v[at + i];
    d[i] = s.d[at + i];
  }
  DeltaStep padded = s;
  padded.state = state;
  padded.stride = padded.columns = V::kLanes;
  padded.v = v;
  padded.d = d;
  padded.o = o;
  whole(padded);
  for (int32_t key = 0; key < s.keys; ++key)
    for (int i = 0; i < rest; ++i) s.state[key * s.stride + at + i] = state[key * V::kLanes + i];
  for (int i = 0; i < rest; ++i) {
    s.d[at + i] = d[i];
    if (s.o != nullptr) s.o[at + i] = o[i];
  }
}

template <class V>
void delta_step(const DeltaStep& s) {
  int32_t at = 0;
  for (; at + 4 * V::kLanes <= s.columns; at += 4 * V::kLanes) delta_columns<V, 4>(s, at);
  for (; at + V::kLanes <= s.columns; at += V::kLanes) delta_columns<V, 1>(s, at);
  if (at < s.columns) delta_rest<V>(s, at, [](const DeltaStep& padded) { delta_columns<V, 1>(padded, 0); });
}

template <class V>
void delta_replay(const DeltaStep& s) {
  int32_t at = 0;
  for (; at + 4 * V::kLanes <= s.columns; at += 4 * V::kLanes) replay_columns<V, 4>(s, at);
  for (; at + V::kLanes <= s.columns; at += V::kLanes) replay_columns<V, 1>(s, at);
  if (at < s.columns) delta_rest<V>(s, at, [](const DeltaStep& padded) { replay_columns<V, 1>(padded, 0); });
}

}  // namespace paceline::kernels::lanes
