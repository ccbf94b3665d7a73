#include "state/memory.h"

namespace paceline {

Memory::Memory(const KvLayout& layout, size_t capacity_bytes)
    : pool_(std::make_shared<KvBlockPool>(layout.blocks, capacity_bytes)), prefixes_(layout) {
  pool_->arena().set_reclaim([this] { return prefixes_.reclaim(); });
}

int64_t Memory::units_of(size_t bytes) const {
  const size_t unit = pool_->arena().unit_bytes();
  return static_cast<int64_t>((bytes + unit - 1) / unit);
}

const char* Memory::problem_when_idle() const {
  return running_bytes() == 0 ? "" : "blocks have owners besides the kept prefixes";
}

}  // namespace paceline
