// Weights in the order of the table's kernels, rearranged by all threads at the speed of memory.
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <new>

#include "kernels/cpu_ops.h"

namespace paceline::kernels {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
// Memory is taken when it is first written to: what a block has too much costs nothing.
constexpr size_t kBlockBytes = size_t{64} << 20;
constexpr size_t kAlignment = 4096;

size_t rounded(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

Matrix as_packed(Matrix w, const void* values) {
  w.packed = true;
  w.values = values;
  w.scales = w.biases = nullptr;
  return w;
}

}  // namespace

// Streams cross page borders all the time, and each costs a look-up: hence huge pages.
void* CpuOps::place_memory(size_t bytes, std::vector<std::shared_ptr<const void>>& owners) {
  if (place_size_ - place_used_ < bytes) {
    const size_t size = rounded(std::max(bytes, kBlockBytes), kHugePage);
    void* block = std::aligned_alloc(kHugePage, size);
    if (block == nullptr) throw std::bad_alloc();
    madvise(block, size, MADV_HUGEPAGE);
    place_block_ = {block, [](void* p) { std::free(p); }};
    place_size_ = size;
    place_used_ = 0;
  }
  if (owners.empty() || owners.back() != place_block_) owners.push_back(place_block_);
  void* at = static_cast<char*>(place_block_.get()) + place_used_;
  place_used_ = std::min(place_size_, place_used_ + rounded(bytes, kAlignment));
  return at;
}

MatrixStack CpuOps::place(const MatrixStack& w, std::vector<std::shared_ptr<const void>>& owners) {
  const size_t bytes = table_.packed_bytes == nullptr || w.count == 0 ? 0 : table_.packed_bytes(w.first);
  if (bytes == 0) return w;
  auto* const memory = static_cast<char*>(place_memory(bytes * static_cast<size_t>(w.count), owners));
  const int64_t blocks = (w.first.rows + table_.pack_rows - 1) / table_.pack_rows;
  pool_.run(blocks * w.count, 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto expert = static_cast<int32_t>(i / blocks), block = static_cast<int32_t>(i % blocks);
      table_.pack(w.at(expert), memory + bytes * static_cast<size_t>(expert), block, block + 1);
    }
  });
  MatrixStack placed = w;
  placed.first = as_packed(w.first, memory);
  placed.stride_bytes = bytes;
  return placed;
}

Matrix CpuOps::place(const Matrix& w, std::vector<std::shared_ptr<const void>>& owners) {
  return place(MatrixStack{w, w.present() ? 1 : 0, 0}, owners).first;
}

}  // namespace paceline::kernels
