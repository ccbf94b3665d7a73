// What recurrent layers need, written once for all instruction sets (see math.h for V). A step of Gated DeltaNet is
// bound by the bytes of its state, read and written once. It walks over the state twice, a page of memory at a time
// with sums kept in between, and in the second walk asks for the state that comes next.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/cpu_table.h"
#include "kernels/lanes/elementwise.h"
#include "kernels/lanes/math.h"

namespace paceline::kernels::lanes {

template <class V>
void sigmoid_mul(float* y, const float* gate, int64_t count) {
  map2<V>(y, gate, count,
          [](auto a, auto g) { return V::div(a, V::add(V::set1(1.0f), exp<V>(V::sub(V::set1(0.0f), g)))); });
}

// Vectors side by side, so that one's exp need not wait for another's.
template <class V, int kVectors>
inline void convolve_some(const Convolution& c, int32_t at, float* y) {
  typename V::F sum[kVectors];
#pragma GCC unroll 4
  for (int i = 0; i < kVectors; ++i) sum[i] = V::set1(0);
  for (int32_t j = 0; j < c.kernel; ++j) {
    const float *taps = c.taps + j * c.stride + at, *row = c.rows[j] + at;
#pragma GCC unroll 4
    for (int i = 0; i < kVectors; ++i)
      sum[i] = V::fma(V::load(taps + i * V::kLanes), V::load(row + i * V::kLanes), sum[i]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < kVectors; ++i) sum[i] = silu<V>(sum[i]);
#pragma GCC unroll 4
  for (int i = 0; i < kVectors; ++i) V::store(y + at + i * V::kLanes, sum[i]);
}

template <class V>
void convolve(const Convolution& c, float* y) {
  int32_t at = c.begin;
  for (; at + V::kTogether * V::kLanes <= c.end; at += V::kTogether * V::kLanes)
    convolve_some<V, V::kTogether>(c, at, y);
  for (; at + V::kLanes <= c.end; at += V::kLanes) convolve_some<V, 1>(c, at, y);
  const int32_t rest = c.end - at;
  if (rest <= 0) return;
  auto sum = V::set1(0);
  for (int32_t j = 0; j < c.kernel; ++j)
    sum = V::fma(load_tail<V>(c.taps + j * c.stride + at, rest, 0), load_tail<V>(c.rows[j] + at, rest, 0), sum);
  store_tail<V>(y + at, rest, silu<V>(sum));
}

// Keys whose rows are walked over before the next columns' are: 4 KB where a head has 128 columns.
inline constexpr int32_t kDeltaKeys = 8;
// Columns in registers at a time, where only errors are summed up and where outputs are, too.
inline constexpr int32_t kErrorColumns = 64, kUpdateColumns = 32;

// Arguments of prefetches, and the floats of a line.
inline constexpr int kToWrite = 1, kIntoSecondCache = 2, kLineFloats = 16;

// walk(vectors of a tile, its first column, first key, last key) over all but the rest.
template <class V, int32_t kColumns, class Walk>
inline void delta_tiles(const DeltaStep& s, Walk walk) {
  constexpr int kMost = std::max(4, kColumns / V::kLanes);
  for (int32_t key = 0; key < s.keys; key += kDeltaKeys) {
    const int32_t end = std::min(s.keys, key + kDeltaKeys);
    int32_t at = 0;
    for (; at + kMost * V::kLanes <= s.columns; at += kMost * V::kLanes)
      walk(std::integral_constant<int, kMost>(), at, key, end);
    for (; at + V::kLanes <= s.columns; at += V::kLanes) walk(std::integral_constant<int, 1>(), at, key, end);
  }
}

// What the state says of the key, to s.d.
template <class V, int kVectors>
inline void sum_errors(const DeltaStep& s, int32_t at, int32_t key, int32_t end) {
  using F = typename V::F;
  F d[kVectors];
#pragma GCC unroll 16
  for (int i = 0; i < kVectors; ++i) d[i] = key == 0 ? V::set1(0) : V::load(s.d + at + i * V::kLanes);
  const float* row = s.state + key * s.stride + at;
  for (; key < end; ++key, row += s.stride) {
    const F k = V::set1(s.k[key]);
#pragma GCC unroll 16
    for (int i = 0; i < kVectors; ++i) d[i] = V::fma(V::load(row + i * V::kLanes), k, d[i]);
  }
#pragma GCC unroll 16
  for (int i = 0; i < kVectors; ++i) V::store(s.d + at + i * V::kLanes, d[i]);
}

template <class V, int kVectors>
inline void update_state(const DeltaStep& s, int32_t at, int32_t key, int32_t end) {
  using F = typename V::F;
  F d[kVectors], o[kVectors];
#pragma GCC unroll 16
  for (int i = 0; i < kVectors; ++i) {
    d[i] = V::load(s.d + at + i * V::kLanes);
    o[i] = key == 0 ? V::set1(0) : V::load(s.o + at + i * V::kLanes);
  }
  const F decay = V::set1(s.decay);
  float* row = s.state + key * s.stride + at;
  for (; key < end; ++key, row += s.stride) {
    const F k = V::set1(s.k[key]), q = V::set1(s.q[key]);
    if (s.ahead != nullptr)
      for (int i = 0; i < kVectors * V::kLanes; i += kLineFloats)
        __builtin_prefetch(s.ahead + (row - s.state) + i, kToWrite, kIntoSecondCache);
#pragma GCC unroll 16
    for (int i = 0; i < kVectors; ++i) {
      const F now = V::fma(k, d[i], V::mul(V::load(row + i * V::kLanes), decay));
      V::store(row + i * V::kLanes, now);
      o[i] = V::fma(now, q, o[i]);
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < kVectors; ++i) V::store(s.o + at + i * V::kLanes, o[i]);
}

template <class V, int kVectors>
inline void replay_state(const DeltaStep& s, int32_t at, int32_t key, int32_t end) {
  using F = typename V::F;
  F d[kVectors];
#pragma GCC unroll 16
  for (int i = 0; i < kVectors; ++i) d[i] = V::load(s.d + at + i * V::kLanes);
  const F decay = V::set1(s.decay);
  float* row = s.state + key * s.stride + at;
  for (; key < end; ++key, row += s.stride) {
    const F k = V::set1(s.k[key]);
#pragma GCC unroll 16
    for (int i = 0; i < kVectors; ++i)
      V::store(row + i * V::kLanes, V::fma(k, d[i], V::mul(V::load(row + i * V::kLanes), decay)));
  }
}

template <class V>
inline void step_whole(const DeltaStep& s) {
  delta_tiles<V, kErrorColumns>(s, [&](auto n, auto... at) { sum_errors<V, decltype(n)::value>(s, at...); });
  const auto decay = V::set1(s.decay), beta = V::set1(s.beta);
  for (int32_t at = 0; at + V::kLanes <= s.columns; at += V::kLanes)
    V::store(s.d + at, V::mul(beta, V::sub(V::load(s.v + at), V::mul(decay, V::load(s.d + at)))));
  delta_tiles<V, kUpdateColumns>(s, [&](auto n, auto... at) { update_state<V, decltype(n)::value>(s, at...); });
}

template <class V>
inline void replay_whole(const DeltaStep& s) {
  delta_tiles<V, kErrorColumns>(s, [&](auto n, auto... at) { replay_state<V, decltype(n)::value>(s, at...); });
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
  padded.ahead = nullptr;
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
  step_whole<V>(s);
  const int32_t whole = s.columns / V::kLanes * V::kLanes;
  if (whole < s.columns) delta_rest<V>(s, whole, [](const DeltaStep& padded) { step_whole<V>(padded); });
}

template <class V>
void delta_replay(const DeltaStep& s) {
  replay_whole<V>(s);
  const int32_t whole = s.columns / V::kLanes * V::kLanes;
  if (whole < s.columns) delta_rest<V>(s, whole, [](const DeltaStep& padded) { replay_whole<V>(padded); });
}

}  // namespace paceline::kernels::lanes
