// Memory for weights that were rearranged out of a file, known as such among a model's owners: once a backend has what
// it needs in memory of its own, what nobody reads any more can go.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <vector>

namespace paceline {

struct MadeMemory {
  static constexpr std::align_val_t kAlignment{64};
  size_t bytes = 0;

  void operator()(void* memory) const { ::operator delete(memory, kAlignment); }
};

inline std::shared_ptr<void> made_memory(size_t bytes) {
  return {::operator new(std::max<size_t>(bytes, 1), MadeMemory::kAlignment), MadeMemory{bytes}};
}

// Lets go of all made memory that none of these addresses lies in.
inline void keep_made(std::vector<const void*> read, std::vector<std::shared_ptr<const void>>& owners) {
  const std::less<const void*> before;
  std::sort(read.begin(), read.end(), before);
  std::erase_if(owners, [&](const std::shared_ptr<const void>& owner) {
    const auto* made = std::get_deleter<MadeMemory>(owner);
    if (made == nullptr) return false;
    const auto first = std::lower_bound(read.begin(), read.end(), owner.get(), before);
    return first == read.end() || !before(*first, static_cast<const std::byte*>(owner.get()) + made->bytes);
  });
}

}  // namespace paceline
