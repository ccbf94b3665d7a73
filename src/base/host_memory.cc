#include "base/host_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "base/sanitized.h"

namespace paceline {
namespace {

// With AddressSanitizer of the heap, where a row that is written beside its piece is noticed.
constexpr bool kMaps = !kAddressSanitized;
// Smaller ones would waste most of their last page.
constexpr size_t kLeastMapped = size_t{32} << 10;

constexpr size_t kHugePage = size_t{2} << 20;
// Smaller ones would be half empty.
constexpr size_t kLeastHuge = 16 * kHugePage;

std::shared_ptr<void> mapped(size_t bytes, int flags) {
  void* pages = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  if (pages == MAP_FAILED) return nullptr;
  return {pages, [bytes](void* p) { ::munmap(p, bytes); }};
}

}  // namespace

std::shared_ptr<void> host_memory(size_t bytes) {
  if (kMaps && bytes >= kLeastMapped) {
    // It can fail where a process has as many mappings as it may: then the heap may still have some.
    if (std::shared_ptr<void> pages = mapped(bytes, 0)) return pages;
  }
  const size_t whole = std::max<size_t>(64, (bytes + 63) / 64 * 64);
  void* memory = std::aligned_alloc(64, whole);
  if (memory == nullptr) return nullptr;
  std::memset(memory, 0, whole);
  return {memory, [](void* p) { std::free(p); }};
}

std::shared_ptr<void> reserved_host_memory(size_t bytes) {
  if (bytes < kLeastHuge) return mapped(bytes, MAP_NORESERVE);
  // Where the system gives pages of 2 MiB, what is read from one end to the other is found 500 times as seldom. Those
  // that are begun at either end are all that is lost by it.
  const std::shared_ptr<void> room = mapped(bytes + kHugePage, MAP_NORESERVE);
  if (room == nullptr) return nullptr;
  const auto begin = (reinterpret_cast<uintptr_t>(room.get()) + kHugePage - 1) / kHugePage * kHugePage;
  auto* aligned = reinterpret_cast<void*>(begin);
  (void)::madvise(aligned, bytes, MADV_HUGEPAGE);
  return {room, aligned};
}

}  // namespace paceline
