// y [rows, N] = x [rows, kPageTokens] · W [N, kPageTokens]^T with W in bf16, as attention has it with a page's values:
// the sums of matmul_f32.h, and so its bits, with outputs in the lanes.
//
// Some outputs at a time are turned and widened, once for all rows, to memory that stays in the first cache. There what
// one lane sums elsewhere is a vector, and lanes are folded by adding vectors: V::sum's halves are what is 8, 4, 2 and
// 1 vectors further (16 lanes), so nothing is permuted.
// Bound: arithmetic, 79 operations for 64 products in 16 lanes (8 lanes: 71), and 6 loads for 8 of these products.
//
// A set S has V, Int, turn, both, all, up and as_float (matmul_packed.h, matmul_blocks.h).
#pragma once

#include <cstdint>

#include "kernels/cpu_table.h"
#include "kernels/lanes/ahead.h"
#include "kernels/lanes/matmul_f32.h"
#include "kernels/ops.h"

namespace paceline::kernels::lanes {

// Vectors of outputs that are turned at a time.
inline constexpr int kTurnedVectors = 2;

template <class S>
struct TurnedValues {
  using V = typename S::V;
  static constexpr int kOutputs = kTurnedVectors * V::kLanes;
  // Tokens that one turn takes.
  static constexpr int kTurn = 8;

  alignas(64) float of[kPageTokens][kOutputs];

  void turn(const uint16_t* w, Ahead& ahead) {
    for (int v = 0; v < kTurnedVectors; ++v, w += V::kLanes * kPageTokens) {
      for (int32_t token = 0; token < kPageTokens; token += kTurn) {
        ahead.ask();
        const uint8_t* rows[V::kLanes];
        for (int i = 0; i < V::kLanes; ++i) rows[i] = reinterpret_cast<const uint8_t*>(w + token + i * kPageTokens);
        typename S::Int pairs[kTurn / 2];  // two neighbouring tokens of each output
        S::turn(rows, 0, pairs);
        for (int i = 0; i < kTurn / 2; ++i) {
          float* to = of[token + 2 * i] + v * V::kLanes;
          V::store(to, S::as_float(S::template up<16>(pairs[i])));
          V::store(to + kOutputs, S::as_float(S::both(pairs[i], S::all(static_cast<int32_t>(0xffff0000)))));
        }
      }
    }
  }
};

// Sums of tokens kFirst, kFirst + kStep …, as V::sum has them.
template <class S, int MR, int kFirst, int kStep>
[[gnu::always_inline]] inline void add_tokens(const float* w, const float* x,
                                              typename S::V::F (&sums)[MR][kTurnedVectors]) {
  using V = typename S::V;
  if constexpr (kStep == V::kLanes) {
    for (auto& row : sums)
      for (auto& sum : row) sum = V::set1(0);
#pragma GCC unroll 8
    for (int t = kFirst; t < kPageTokens; t += V::kLanes) {
      typename V::F values[kTurnedVectors];
      for (int v = 0; v < kTurnedVectors; ++v) values[v] = V::load(w + t * TurnedValues<S>::kOutputs + v * V::kLanes);
      for (int m = 0; m < MR; ++m) {
        const auto share = V::set1(x[m * kPageTokens + t]);
        for (int v = 0; v < kTurnedVectors; ++v) sums[m][v] = V::fma(values[v], share, sums[m][v]);
      }
    }
  } else {
    typename V::F others[MR][kTurnedVectors];
    add_tokens<S, MR, kFirst, 2 * kStep>(w, x, sums);
    add_tokens<S, MR, kFirst + kStep, 2 * kStep>(w, x, others);
    for (int m = 0; m < MR; ++m)
      for (int v = 0; v < kTurnedVectors; ++v) sums[m][v] = V::add(sums[m][v], others[m][v]);
  }
}

// Four parts of a sum in a loop: unrolled as a whole they would not stay among the processor's decoded instructions.
template <class S, int MR>
[[gnu::noinline]] void value_rows(const float* w, const float* x, float* y, int64_t ldy) {
  using V = typename S::V;
  constexpr int kParts = 4;
  typename V::F parts[kParts][MR][kTurnedVectors];
#pragma GCC unroll 1
  for (int part = 0; part < kParts; ++part) {
    typename V::F sums[MR][kTurnedVectors];
    add_tokens<S, MR, 0, kParts>(w + part * TurnedValues<S>::kOutputs, x + part, sums);
    for (int m = 0; m < MR; ++m)
      for (int v = 0; v < kTurnedVectors; ++v) parts[part][m][v] = sums[m][v];
  }
  for (int m = 0; m < MR; ++m)
    for (int v = 0; v < kTurnedVectors; ++v) {
      const auto even = V::add(parts[0][m][v], parts[2][m][v]), odd = V::add(parts[1][m][v], parts[3][m][v]);
      V::store(y + m * ldy + v * V::kLanes, V::add(even, odd));
    }
}

template <class S>
void matmul_values(const Matrix& w, const void* ahead, const Act& x, float* y, int64_t ldy) {
  constexpr int kOutputs = TurnedValues<S>::kOutputs;
  constexpr int32_t kTurns = kTurnedVectors * kPageTokens / TurnedValues<S>::kTurn;
  const auto* shares = static_cast<const float*>(x.bytes);
  const int32_t rows = x.shape.rows;
  Ahead next(ahead, int64_t{w.rows} * kPageTokens * 2, w.rows / kOutputs * (kTurns + row_tiles(rows)));
  TurnedValues<S> turned;
  for (int32_t n = 0; n < w.rows; n += kOutputs) {
    turned.turn(static_cast<const uint16_t*>(w.values) + n * kPageTokens, next);
    int32_t m = 0;
    const auto some = [&]<int MR>() {
      for (; m + MR <= rows; m += MR) {
        next.ask();
        value_rows<S, MR>(turned.of[0], shares + m * kPageTokens, y + m * ldy + n, ldy);
      }
    };
    some.template operator()<4>();
    some.template operator()<2>();
    some.template operator()<1>();
  }
}

}  // namespace paceline::kernels::lanes
