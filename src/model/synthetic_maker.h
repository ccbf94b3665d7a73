// Matrices of random weights, made in memory: for measuring speed without a checkpoint.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/thread_pool.h"
#include "tensor/matrix.h"

namespace paceline {

struct SyntheticFormat {
  WeightFormat format = WeightFormat::bf16;  // bf16, q8, q4, f8, nf4, or in blocks
  int32_t group = 64;                        // of q8 and q4
  // Of the embedding, v and down; none: as the others. Mixtures of GGUF files are like that.
  WeightFormat wide = WeightFormat::none;
};

// Memory for one matrix after another, filled with random bits by all threads.
class SyntheticMaker {
 public:
  // pool: none: shapes only, to count bytes. What is made is kept alive by `owners`.
  SyntheticMaker(const SyntheticFormat& format, ThreadPool* pool, std::vector<std::shared_ptr<const void>>& owners)
      : format_(format), pool_(pool), owners_(owners) {}

  Matrix matrix(int64_t rows, int32_t cols) { return matrix_of(format_.format, rows, cols); }
  // One of those that mixtures give more bits.
  Matrix wide_matrix(int64_t rows, int32_t cols) {
    return matrix_of(format_.wide == WeightFormat::none ? format_.format : format_.wide, rows, cols);
  }
  MatrixStack stack(int32_t count, int32_t rows, int32_t cols);

  [[nodiscard]] size_t bytes() const { return bytes_; }

 private:
  Matrix matrix_of(WeightFormat format, int64_t rows, int32_t cols);
  void limit_blocks(const Matrix& m);
  std::byte* allocate(size_t bytes);
  void put_scales(Matrix* m);
  // Of formats whose scales lie apart; 0: they do not.
  [[nodiscard]] int32_t group_of(WeightFormat format) const;
  const void* filled(size_t bytes, WeightFormat format);
  void fill_piece(std::byte* block, size_t begin, size_t end, WeightFormat format) const;
  template <class T>
  const T* constant(size_t bytes, T value) {
    T* const made = reinterpret_cast<T*>(allocate(bytes));
    std::fill_n(made, bytes / sizeof(T), value);
    return made;
  }

  SyntheticFormat format_;
  ThreadPool* pool_;
  std::vector<std::shared_ptr<const void>>& owners_;
  size_t bytes_ = 0;
};

}  // namespace paceline
