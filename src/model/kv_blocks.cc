#include "model/kv_blocks.h"

#include <cstring>
#include <new>

#include "base/check.h"

namespace paceline {
namespace {

constexpr std::align_val_t kAlignment{64};

}  // namespace

void KvBlockRef::give_back() {
  KvBlock* block = std::exchange(block_, nullptr);
  if (block != nullptr && --block->owners == 0) block->pool->free(block);
}

KvBlockPool::KvBlockPool(Sizes sizes, size_t capacity_bytes) : sizes_(sizes), capacity_bytes_(capacity_bytes) {}

KvBlockPool::~KvBlockPool() {
  CHECK(used_bytes_ == 0);
  for (const LayerKind kind : {LayerKind::global, LayerKind::sliding})
    while (!idle(kind).empty()) release_idle(kind);
}

KvBlockRef KvBlockPool::take(LayerKind kind) {
  const size_t bytes = sizes_.of(kind);
  const LayerKind other = kind == LayerKind::global ? LayerKind::sliding : LayerKind::global;
  while (idle(kind).empty() && used_bytes_ + idle_bytes_ + bytes > capacity_bytes_) {
    if (!idle(other).empty()) {
      release_idle(other);
    } else {
      const bool reclaimed = reclaim_ && reclaim_();
      CHECK(reclaimed);
    }
  }
  KvBlock* block = nullptr;
  if (!idle(kind).empty()) {
    block = idle(kind).back();
    idle(kind).pop_back();
    idle_bytes_ -= bytes;
  } else {
    block = new KvBlock{this, kind, 0, nullptr};
    if (bytes > 0) block->memory = static_cast<std::byte*>(::operator new(bytes, kAlignment));
  }
  used_bytes_ += bytes;
  if (bytes > 0) std::memset(block->memory, 0, bytes);
  return KvBlockRef(block);
}

void KvBlockPool::free(KvBlock* block) {
  const size_t bytes = sizes_.of(block->kind);
  used_bytes_ -= bytes;
  idle_bytes_ += bytes;
  idle(block->kind).push_back(block);
}

void KvBlockPool::release_idle(LayerKind kind) {
  KvBlock* block = idle(kind).back();
  idle(kind).pop_back();
  idle_bytes_ -= sizes_.of(kind);
  ::operator delete(block->memory, kAlignment);
  delete block;
}

}  // namespace paceline
