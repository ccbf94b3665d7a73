#include "state/kv_blocks.h"

#include <cstring>

#include "base/check.h"
#include "base/host_memory.h"

namespace paceline {
void KvBlockRef::give_back() {
  KvBlock* block = std::exchange(block_, nullptr);
  if (block != nullptr && --block->owners == 0) block->pool->free(block);
}

KvBlockPool::KvBlockPool(Sizes sizes, size_t capacity_bytes) : sizes_(sizes), capacity_bytes_(capacity_bytes) {}

KvBlockPool::~KvBlockPool() {
  CHECK(used_bytes_ == 0);
  for (const StateKind kind : kStateKinds)
    while (!idle_[kind].empty()) release_idle(kind);
}

KvBlockRef KvBlockPool::take(StateKind kind) {
  const size_t bytes = sizes_[kind];
  while (idle_[kind].empty() && used_bytes_ + idle_bytes_ + bytes > capacity_bytes_) {
    if (!release_idle_other(kind) && (!reclaim_ || !reclaim_())) return {};
  }
  used_bytes_ += bytes;
  if (idle_[kind].empty()) return KvBlockRef(fresh(kind));
  KvBlock* block = idle_[kind].back();
  idle_[kind].pop_back();
  idle_bytes_ -= bytes;
  if (block->memory != nullptr && sizes_.backend != nullptr)
    sizes_.backend->clear(block->memory, bytes);
  else if (block->memory != nullptr)
    std::memset(block->memory, 0, bytes);
  return KvBlockRef(block);
}

// Memory comes zeroed.
KvBlock* KvBlockPool::fresh(StateKind kind) {
  auto* block = new KvBlock{this, kind, 0, nullptr, nullptr};
  const size_t bytes = sizes_[kind];
  if (bytes > 0) block->keeps = sizes_.backend != nullptr ? sizes_.backend->memory(bytes) : host_memory(bytes);
  block->memory = static_cast<std::byte*>(block->keeps.get());
  return block;
}

void KvBlockPool::copy(const KvBlockRef& to, const KvBlockRef& from, StateKind kind) const {
  const size_t bytes = sizes_[kind];
  if (bytes == 0) return;
  if (sizes_.backend != nullptr)
    sizes_.backend->copy(to.memory(), from.memory(), bytes);
  else
    std::memcpy(to.memory(), from.memory(), bytes);
}

void KvBlockPool::free(KvBlock* block) {
  const size_t bytes = sizes_[block->kind];
  used_bytes_ -= bytes;
  idle_bytes_ += bytes;
  idle_[block->kind].push_back(block);
}

bool KvBlockPool::release_idle_other(StateKind kind) {
  for (const StateKind other : kStateKinds) {
    if (other == kind || idle_[other].empty()) continue;
    release_idle(other);
    return true;
  }
  return false;
}

void KvBlockPool::release_idle(StateKind kind) {
  KvBlock* block = idle_[kind].back();
  idle_[kind].pop_back();
  idle_bytes_ -= sizes_[kind];
  delete block;
}

}  // namespace paceline
