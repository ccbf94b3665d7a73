#include "state/memory.h"

#include <algorithm>

namespace paceline {

Memory::Memory(const KvLayout& layout, size_t capacity_bytes)
    : pool_(std::make_shared<KvBlockPool>(layout.block_bytes, capacity_bytes)), prefixes_(layout) {
  pool_->set_reclaim([this] { return prefixes_.reclaim(); });
}

bool Memory::reserve(size_t bytes) {
  if (bytes > pool_->capacity_bytes() - reserved_bytes_) return false;
  reserved_bytes_ += bytes;
  return true;
}

void Memory::release(size_t bytes) {
  released_too_much_ |= bytes > reserved_bytes_;
  reserved_bytes_ -= std::min(bytes, reserved_bytes_);
}

const char* Memory::problem_when_idle() const {
  if (released_too_much_) return "more bytes were given back than had been reserved";
  if (reserved_bytes_ != 0) return "reserved bytes were not given back";
  if (pool_->used_bytes() != prefixes_.kept_bytes()) return "blocks have owners besides the kept prefixes";
  return "";
}

}  // namespace paceline
