// Weights in the order of the table's kernels, rearranged by all threads at the speed of memory.
#include <sys/mman.h>

#include <cstdlib>
#include <new>

#include "kernels/cpu_ops.h"

namespace paceline::kernels {
namespace {

// In huge pages where the system has them: streams cross page borders all the time, and each costs a look-up.
std::shared_ptr<void> allocate(size_t bytes) {
  constexpr size_t kHugePage = size_t{2} << 20;
  const size_t rounded = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  void* block = std::aligned_alloc(kHugePage, rounded);
  if (block == nullptr) throw std::bad_alloc();
  madvise(block, rounded, MADV_HUGEPAGE);
  return {block, [](void* p) { std::free(p); }};
}

Matrix as_packed(Matrix w, const void* values) {
  w.packed = true;
  w.values = values;
  w.scales = w.biases = nullptr;
  return w;
}

}  // namespace

MatrixStack CpuOps::place(const MatrixStack& w, std::vector<std::shared_ptr<const void>>& owners) {
  const size_t bytes = table_.packed_bytes == nullptr || w.count == 0 ? 0 : table_.packed_bytes(w.first);
  if (bytes == 0) return w;
  const std::shared_ptr<void> memory = allocate(bytes * static_cast<size_t>(w.count));
  const int64_t blocks = (w.first.rows + table_.pack_rows - 1) / table_.pack_rows;
  pool_.run(blocks * w.count, 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto expert = static_cast<int32_t>(i / blocks), block = static_cast<int32_t>(i % blocks);
      table_.pack(w.at(expert), static_cast<char*>(memory.get()) + bytes * static_cast<size_t>(expert), block,
                  block + 1);
    }
  });
  owners.push_back(memory);
  MatrixStack placed = w;
  placed.first = as_packed(w.first, memory.get());
  placed.stride_bytes = bytes;
  return placed;
}

Matrix CpuOps::place(const Matrix& w, std::vector<std::shared_ptr<const void>>& owners) {
  return place(MatrixStack{w, w.present() ? 1 : 0, 0}, owners).first;
}

}  // namespace paceline::kernels
