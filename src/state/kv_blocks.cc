#include "state/kv_blocks.h"

#include <memory>

namespace paceline {

// Blocks whose owners are all keepers are available.
void KvBlockRef::count(int32_t owners, int32_t keepers) {
  const auto kept = [this] { return block_->keepers > 0 && block_->keepers == block_->owners ? 1 : 0; };
  const int32_t before = kept();
  block_->owners += owners;
  block_->keepers += keepers;
  block_->pool->kept_units_ += (kept() - before) * static_cast<int32_t>(block_->units.size());
}

void KvBlockRef::give_back() {
  if (block_ == nullptr) return;
  count(-1, 0);
  KvBlock* block = std::exchange(block_, nullptr);
  if (block->owners == 0) block->pool->free(block);
}

void KeptBlock::keep(KvBlockRef block) {
  give_up();
  block_ = std::move(block);
  if (block_) block_.count(0, 1);
}

void KeptBlock::give_up() {
  if (!block_) return;
  block_.count(0, -1);
  block_.give_back();
}

KvBlockPool::KvBlockPool(const Shape& shape, size_t capacity_bytes)
    : shape_(shape), arena_(shape.backend, shape.unit_bytes, capacity_bytes) {}

KvBlockRef KvBlockPool::take(StateKind kind) {
  auto block = std::make_unique<KvBlock>();
  block->pool = this;
  block->kind = kind;
  block->units.resize(static_cast<size_t>(shape_.units[kind]));
  // What grows by itself lies together, and so does the rest. A row's tape is written before it is read.
  const Arena::End end = grows(kind) ? Arena::End::low : Arena::End::high;
  if (!arena_.take(block->units, end, kind != StateKind::tape)) return {};
  return KvBlockRef(block.release());
}

void KvBlockPool::copy(const KvBlockRef& to, const KvBlockRef& from) const {
  for (size_t i = 0; i < to.units().size(); ++i) arena_.copy(to.units()[i], from.units()[i]);
}

void KvBlockPool::free(KvBlock* block) {
  arena_.give_back(block->units);
  delete block;
}

}  // namespace paceline
