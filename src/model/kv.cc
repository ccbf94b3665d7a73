#include "model/kv.h"

#include <algorithm>

#include "base/check.h"

namespace paceline {

KvLayout::KvLayout(const ModelConfig& config, DType dtype_in, kernels::Ops* backend)
    : dtype(dtype_in), window(config.window) {
  block_bytes.backend = backend;
  ring_pages = ring_pages_for(kMaxForwardRows);
  std::vector<int32_t> owner_of(config.layers.size(), 0);
  for (int32_t i = 0; i < config.layer_count(); ++i) {
    const auto at = static_cast<size_t>(i);
    const LayerConfig& from = config.layers[static_cast<size_t>(config.layers[at].kv_layer)];
    Layer layer;
    layer.kind = from.kind;
    layer.kv_heads = from.kv_heads;
    layer.head_dim = from.head_dim;
    layer.owns = config.layers[at].kv_layer == i;
    layer.owner = layer.owns ? owners++ : owner_of[static_cast<size_t>(config.layers[at].kv_layer)];
    owner_of[at] = layer.owner;
    layer.page_bytes =
        static_cast<size_t>(from.kv_heads) * static_cast<size_t>(from.head_dim) * kPageTokens * dtype_bytes(dtype);
    if (layer.owns) {
      size_t& block = layer.kind == LayerKind::global ? block_bytes.global : block_bytes.sliding;
      layer.offset = block;
      block += (2 * layer.page_bytes + 63) / 64 * 64;
    }
    layers.push_back(layer);
  }
}

// The window, the rows of one forward beyond it (of which kMaxForwardRows may be taken back again), and the part of a
// page that lies before the first position needed.
int32_t KvLayout::ring_pages_for(int32_t rows) const { return (window + rows + kPageTokens - 1) / kPageTokens + 1; }

size_t KvLayout::bytes_per_token() const {
  size_t bytes = 0;
  for (const Layer& layer : layers)
    if (layer.owns && layer.kind == LayerKind::global) bytes += 2 * layer.page_bytes / kPageTokens;
  return bytes;
}

size_t KvLayout::window_bytes() const {
  size_t bytes = 0;
  for (const Layer& layer : layers)
    if (layer.owns && layer.kind == LayerKind::sliding)
      bytes += 2 * layer.page_bytes / kPageTokens * static_cast<size_t>(window);
  return bytes;
}

size_t KvLayout::ring_bytes() const {
  size_t bytes = 0;
  for (const Layer& layer : layers)
    if (layer.owns && layer.kind == LayerKind::sliding) bytes += 2 * layer.page_bytes * static_cast<size_t>(ring_pages);
  return bytes;
}

size_t KvLayout::sequence_bytes(int32_t positions, int32_t most_rows) const {
  const auto pages = static_cast<size_t>((int64_t{positions} + kPageTokens - 1) / kPageTokens);
  const size_t ring = std::min(pages, static_cast<size_t>(ring_pages_for(most_rows)));
  return pages * block_bytes.global + ring * block_bytes.sliding;
}

int32_t KvLayout::first_page_seen(int32_t pos) const { return std::max(0, pos - window + 1) / kPageTokens; }

KvCache::KvCache(const KvLayout& layout, int32_t capacity, int32_t most_rows, std::shared_ptr<KvBlockPool> pool)
    : layout_(&layout),
      pool_(pool != nullptr ? std::move(pool) : std::make_shared<KvBlockPool>(layout.block_bytes)),
      capacity_(capacity),
      most_rows_(most_rows),
      ring_pages_(layout.ring_pages_for(most_rows)),
      owners_(static_cast<size_t>(layout.owners)) {
  CHECK(most_rows >= kMaxForwardRows && most_rows <= kMaxImageRows);
}

size_t KvCache::slot_of(LayerKind kind, int32_t page) const {
  return static_cast<size_t>(kind == LayerKind::global ? page : page % ring_pages_);
}

void KvCache::put(LayerKind kind, size_t slot, KvBlockRef block) {
  std::vector<KvBlockRef>& blocks = held(kind);
  if (blocks.size() <= slot) blocks.resize(slot + 1);
  for (const KvLayout::Layer& layer : layout_->layers) {
    if (!layer.owns || layer.kind != kind) continue;
    LayerPages& pages = owners_[static_cast<size_t>(layer.owner)];
    if (pages.keys.size() <= slot) {
      pages.keys.resize(slot + 1);
      pages.values.resize(slot + 1);
    }
    pages.keys[slot] = block.memory() + layer.offset;
    pages.values[slot] = block.memory() + layer.offset + layer.page_bytes;
  }
  blocks[slot] = std::move(block);
}

bool KvCache::reserve(int32_t count) {
  CHECK(count <= most_rows_ && length_ + count <= capacity_);
  const int32_t pages_needed = (length_ + count + kPageTokens - 1) / kPageTokens;
  for (; placed_pages_ < pages_needed; ++placed_pages_) {
    for (const LayerKind kind : {LayerKind::global, LayerKind::sliding}) {
      const size_t slot = slot_of(kind, placed_pages_);
      std::vector<KvBlockRef>& blocks = held(kind);
      // A ring's old page is written over, unless others still read it. Then it is theirs alone before another is
      // taken: a ring never holds more blocks than it has slots, and what only the pool's owner keeps can be given up.
      if (slot < blocks.size() && blocks[slot]) {
        if (blocks[slot].alone()) continue;
        blocks[slot].give_back();
      }
      KvBlockRef block = pool_->take(kind);
      if (!block) return false;
      put(kind, slot, std::move(block));
    }
  }
  return true;
}

void KvCache::commit(int32_t count) {
  length_ += count;
  written_ = std::max(written_, length_);
}

void KvCache::truncate(int32_t length) {
  CHECK(length >= 0 && length <= length_);
  // What the ring still holds must reach back to the window of the new last position.
  CHECK(length == 0 || written_ - length <= kMaxForwardRows);
  length_ = length;
  if (length == 0) written_ = placed_pages_ = 0;
}

kernels::KvPages KvCache::pages(int32_t layer) const {
  const KvLayout::Layer& where = layout_->layers[static_cast<size_t>(layer)];
  const LayerPages& pages = owners_[static_cast<size_t>(where.owner)];
  return {pages.keys.data(), pages.values.data(), where.kind == LayerKind::global ? 0 : ring_pages_};
}

void KvCache::visit_blocks(const std::function<void(LayerKind, const KvBlockRef&)>& visit) const {
  for (const KvBlockRef& block : global_)
    if (block) visit(LayerKind::global, block);
  for (const KvBlockRef& block : sliding_)
    if (block) visit(LayerKind::sliding, block);
}

size_t KvCache::bytes() const {
  size_t bytes = 0;
  visit_blocks([&](LayerKind kind, const KvBlockRef&) { bytes += layout_->block_bytes.of(kind); });
  return bytes;
}

KvCache::PageBlocks KvCache::page_blocks(int32_t page) const {
  CHECK(page >= 0 && (page + 1) * kPageTokens <= length_);
  PageBlocks blocks;
  blocks.global = global_[slot_of(LayerKind::global, page)];
  if (in_ring(page)) blocks.sliding = sliding_[slot_of(LayerKind::sliding, page)];
  return blocks;
}

void KvCache::share(int32_t page, const PageBlocks& blocks) {
  CHECK(page >= 0 && (page + 1) * kPageTokens <= length_);
  put(LayerKind::global, slot_of(LayerKind::global, page), blocks.global);
  if (blocks.sliding && in_ring(page)) put(LayerKind::sliding, slot_of(LayerKind::sliding, page), blocks.sliding);
}

void KvCache::adopt(std::span<const PageBlocks> pages) {
  const auto count = static_cast<int32_t>(pages.size());
  const int32_t first_seen = layout_->first_page_seen(count * kPageTokens);
  CHECK(placed_pages_ <= count && count * kPageTokens <= capacity_ && count - first_seen <= ring_pages_);
  for (int32_t page = 0; page < count; ++page) {
    const PageBlocks& blocks = pages[static_cast<size_t>(page)];
    put(LayerKind::global, slot_of(LayerKind::global, page), blocks.global);
    if (page < first_seen) continue;
    CHECK(static_cast<bool>(blocks.sliding));
    put(LayerKind::sliding, slot_of(LayerKind::sliding, page), blocks.sliding);
  }
  length_ = written_ = count * kPageTokens;
  placed_pages_ = count;
}

std::optional<KvCache> KvCache::fork() const {
  std::optional<KvCache> made(std::in_place, *layout_, capacity_, most_rows_, pool_);
  KvCache& other = *made;
  other.length_ = length_;
  other.written_ = written_;
  other.placed_pages_ = placed_pages_;
  const int32_t open_page = length_ / kPageTokens;
  for (const LayerKind kind : {LayerKind::global, LayerKind::sliding}) {
    const std::vector<KvBlockRef>& mine = kind == LayerKind::global ? global_ : sliding_;
    for (size_t slot = 0; slot < mine.size(); ++slot) {
      if (mine[slot]) other.put(kind, slot, mine[slot]);
    }
    // What either may still write: the page of the next position and, where rows were taken back, those behind it.
    for (int32_t page = open_page; page < placed_pages_; ++page) {
      const size_t slot = slot_of(kind, page);
      KvBlockRef copy = pool_->take(kind);
      if (!copy) return std::nullopt;
      pool_->copy(copy, mine[slot], kind);
      other.put(kind, slot, std::move(copy));
    }
  }
  return made;
}

}  // namespace paceline
