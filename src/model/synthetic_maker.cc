#include "model/synthetic_maker.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/check.h"
#include "tensor/blocks.h"
#include "tensor/dtype.h"

namespace paceline {

Matrix SyntheticMaker::matrix_of(WeightFormat format, int64_t rows, int32_t cols) {
  Matrix m;
  const int32_t step = in_blocks(format) ? block_shape(format).elements : group_of(format);
  m.format = step == 0 || cols % step == 0 ? format : WeightFormat::bf16;
  m.rows = static_cast<int32_t>(rows);
  m.cols = cols;
  m.group = in_blocks(m.format) ? block_shape(m.format).group : group_of(m.format);
  if (m.format == WeightFormat::nvfp4_split) m.scale_dtype = DType::f8_e4m3;
  if (m.format == WeightFormat::nf4) m.scale_dtype = DType::f32;
  bytes_ += static_cast<size_t>(rows) * m.row_bytes();
  if (pool_ == nullptr) return m;
  m.values = filled(static_cast<size_t>(rows) * m.row_value_bytes(), m.format);
  if (in_blocks(m.format)) limit_blocks(m);
  put_scales(&m);
  return m;
}

int32_t SyntheticMaker::group_of(WeightFormat format) const {
  if (format == WeightFormat::q8 || format == WeightFormat::q4) return format_.group;
  return format == WeightFormat::nf4 ? 64 : 0;
}

// Values about 1/sqrt(cols), so that sums neither vanish nor overflow.
void SyntheticMaker::put_scales(Matrix* m) {
  constexpr float kLargest = 0.03f;
  const size_t bytes = static_cast<size_t>(m->rows) * m->row_scale_bytes();
  if (m->quantised()) {
    const float middle = m->format == WeightFormat::q8 ? 127.5f : 7.5f;
    m->scales = constant(bytes, f32_to_bf16(kLargest / middle));
    m->biases = constant(bytes, f32_to_bf16(-kLargest));
  }
  // The smallest scale that there is.
  if (m->format == WeightFormat::nvfp4_split) m->scales = constant(bytes, uint8_t{1});
  if (m->format == WeightFormat::f8)
    m->factors = constant(static_cast<size_t>(m->rows) * sizeof(double), static_cast<double>(kLargest) / 448);
  if (m->format == WeightFormat::nf4) {
    auto* const levels = reinterpret_cast<float*>(allocate(16 * sizeof(float)));
    for (int i = 0; i < 16; ++i) levels[i] = static_cast<float>(i - 8) / 8;
    m->levels = levels;
    m->scales = constant(bytes, kLargest);
  }
}

MatrixStack SyntheticMaker::stack(int32_t count, int32_t rows, int32_t cols) {
  const Matrix all = matrix(static_cast<int64_t>(count) * rows, cols);
  return {pool_ == nullptr ? all : all.row_slice(0, rows), count, rows};
}

void SyntheticMaker::limit_blocks(const Matrix& m) {
  constexpr float kLargest = 0.03f;
  const auto bytes = static_cast<size_t>(block_shape(m.format).bytes);
  auto* const first = const_cast<std::byte*>(static_cast<const std::byte*>(m.values));
  const auto blocks = static_cast<int64_t>(static_cast<size_t>(m.rows) * m.row_value_bytes() / bytes);
  pool_->run(blocks, 4096, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) limit_block(m.format, kLargest, first + static_cast<size_t>(i) * bytes);
  });
}

std::byte* SyntheticMaker::allocate(size_t bytes) {
  auto* block = static_cast<std::byte*>(std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096));
  CHECK(block != nullptr);
  owners_.push_back(std::shared_ptr<const void>(block, [](const void* p) { std::free(const_cast<void*>(p)); }));
  return block;
}

const void* SyntheticMaker::filled(size_t bytes, WeightFormat format) {
  std::byte* block = allocate(bytes);
  // Every piece has a seed of its own, whichever thread fills it and however many pieces that thread gets at once.
  constexpr size_t kPiece = 1 << 20;
  pool_->run(static_cast<int64_t>((bytes + kPiece - 1) / kPiece), 1, [&](int64_t first, int64_t last) {
    for (auto piece = static_cast<size_t>(first); piece < static_cast<size_t>(last); ++piece)
      fill_piece(block, piece * kPiece, std::min(bytes, (piece + 1) * kPiece), format);
  });
  return block;
}

void SyntheticMaker::fill_piece(std::byte* block, size_t begin, size_t end, WeightFormat format) const {
  uint64_t state = begin * 0x9e3779b97f4a7c15u + 88172645463325252u + bytes_;
  for (size_t at = begin; at < end; at += 8) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    uint64_t word = state;
    // Sign and fraction random, exponent 2^-6 to 2^-5; and any but what is no number.
    if (format == WeightFormat::bf16) word = (state & 0x80ff80ff80ff80ffu) | 0x3c803c803c803c80u;
    if (format == WeightFormat::f8) word = state & 0xf7f7f7f7f7f7f7f7u;
    std::memcpy(block + at, &word, std::min<size_t>(end - at, 8));
  }
}

}  // namespace paceline
