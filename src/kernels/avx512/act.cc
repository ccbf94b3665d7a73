// Preparing activations: one pass over rows that lie in the cache, below one per cent of a matrix product.
#include "kernels/avx512/act.h"

#include <immintrin.h>

#include "kernels/avx2/act.h"
#include "kernels/avx512/vec.h"
#include "kernels/lanes/matmul_f32.h"

namespace paceline::kernels::avx512 {
namespace {

// 16 columns, those at `count` and beyond as zeros.
void narrow(const float* x, int64_t count, uint16_t* y) {
  const auto mask = static_cast<__mmask16>(count >= 16 ? 0xffff : count > 0 ? (1 << count) - 1 : 0);
  const __m256i half = reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(mask, x)));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), half);
}

void prepare_bf16(const Act& act, const float* x, int64_t ldx, int32_t row_begin, int32_t row_end) {
  const int64_t stride = bf16_stride(act.shape.cols);
  for (int32_t r = row_begin; r < row_end; ++r) {
    auto* y = static_cast<uint16_t*>(act.bytes) + r * stride;
    for (int64_t k = 0; k < stride; k += 16) narrow(x + r * ldx + k, act.shape.cols - k, y + k);
  }
}

}  // namespace

size_t act_bytes(const ActShape& shape) {
  switch (shape.kind) {
    case ActKind::f32: return static_cast<size_t>(shape.rows * lanes::f32_stride<Vec>(shape.cols)) * sizeof(float);
    case ActKind::bf16: return static_cast<size_t>(shape.rows * bf16_stride(shape.cols)) * sizeof(uint16_t);
    case ActKind::int8:
    case ActKind::nibbles:
    case ActKind::blocks: break;
  }
  return avx2::act_bytes(shape);
}

void prepare(const Act& act, const float* x, int64_t ldx, int32_t row_begin, int32_t row_end) {
  switch (act.shape.kind) {
    case ActKind::f32: return lanes::prepare_f32<Vec>(act, x, ldx, row_begin, row_end);
    case ActKind::bf16: return prepare_bf16(act, x, ldx, row_begin, row_end);
    case ActKind::int8:
    case ActKind::nibbles:
    case ActKind::blocks: return avx2::prepare(act, x, ldx, row_begin, row_end);
  }
}

}  // namespace paceline::kernels::avx512
