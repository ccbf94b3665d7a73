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
  const int32_t step = in_blocks(format) ? block_shape(format).elements : format_.group;
  m.format = cols % step == 0 || format == WeightFormat::bf16 ? format : WeightFormat::bf16;
  m.rows = static_cast<int32_t>(rows);
  m.cols = cols;
  if (m.quantised()) m.group = format_.group;
  if (in_blocks(m.format)) m.group = block_shape(m.format).group;
  bytes_ += static_cast<size_t>(rows) * (m.row_value_bytes() + 2 * m.row_scale_bytes());
  if (pool_ == nullptr) return m;
  // Values about 1/sqrt(cols), so that sums neither vanish nor overflow.
  m.values = filled(static_cast<size_t>(rows) * m.row_value_bytes(), m.format == WeightFormat::bf16);
  if (in_blocks(m.format)) limit_blocks(m);
  if (m.quantised()) {
    const float middle = m.format == WeightFormat::q8 ? 127.5f : 7.5f;
    const float scale = 0.03f / middle;
    m.scales = constant(static_cast<size_t>(rows) * m.row_scale_bytes(), scale);
    m.biases = constant(static_cast<size_t>(rows) * m.row_scale_bytes(), -middle * scale);
  }
  return m;
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

const void* SyntheticMaker::filled(size_t bytes, bool bf16) {
  std::byte* block = allocate(bytes);
  // Every piece has a seed of its own, whichever thread fills it and however many pieces that thread gets at once.
  constexpr size_t kPiece = 1 << 20;
  pool_->run(static_cast<int64_t>((bytes + kPiece - 1) / kPiece), 1, [&](int64_t first, int64_t last) {
    for (auto piece = static_cast<size_t>(first); piece < static_cast<size_t>(last); ++piece)
      fill_piece(block, piece * kPiece, std::min(bytes, (piece + 1) * kPiece), bf16);
  });
  return block;
}

void SyntheticMaker::fill_piece(std::byte* block, size_t begin, size_t end, bool bf16) const {
  uint64_t state = begin * 0x9e3779b97f4a7c15u + 88172645463325252u + bytes_;
  for (size_t at = begin; at < end; at += 8) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    // bf16: sign and fraction random, exponent 2^-6 to 2^-5.
    const uint64_t word = bf16 ? (state & 0x80ff80ff80ff80ffu) | 0x3c803c803c803c80u : state;
    std::memcpy(block + at, &word, std::min<size_t>(end - at, 8));
  }
}

const void* SyntheticMaker::constant(size_t bytes, float value) {
  auto* block = reinterpret_cast<uint16_t*>(allocate(bytes));
  const uint16_t bits = f32_to_bf16(value);
  for (size_t i = 0; i < bytes / 2; ++i) block[i] = bits;
  return block;
}

}  // namespace paceline
