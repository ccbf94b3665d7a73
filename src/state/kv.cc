#include "state/kv.h"

#include <algorithm>

#include "base/check.h"

namespace paceline {

KvLayout::KvLayout(const ModelState& state, const KvFormats& formats_in, kernels::Ops* backend)
    : formats(formats_in), window(state.window) {
  const bool joins = formats.joined && backend != nullptr && backend->limits().joins;
  block_bytes.backend = backend;
  ring_pages = ring_pages_for(kMaxForwardRows);
  std::vector<int32_t> owner_of;
  for (const LayerState& reader : state.layers) {
    const LayerState& from = state.layers[static_cast<size_t>(reader.kv_layer)];
    Layer layer;
    layer.kind = from.kind;
    layer.kv_heads = from.kv_heads;
    layer.head_dim = from.head_dim;
    layer.owns = static_cast<size_t>(reader.kv_layer) == layers.size();
    layer.owner = layer.owns ? owners++ : owner_of[static_cast<size_t>(reader.kv_layer)];
    owner_of.push_back(layer.owner);
    layer.dtype = formats.dtype[from.kind];
    layer.joined = joins ? from.joined : 0;
    const kernels::KvPageBytes bytes = kernels::kv_page_bytes(layer.shape(0));
    layer.page_bytes = bytes.keys;
    layer.value_bytes = bytes.values;
    if (layer.owns) {
      size_t& block = block_bytes[layer.kind];
      layer.offset = block;
      block += (layer.both_bytes() + 63) / 64 * 64;
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
    if (layer.owns && layer.kind == StateKind::paged) bytes += layer.both_bytes() / kPageTokens;
  return bytes;
}

size_t KvLayout::window_bytes() const {
  size_t bytes = 0;
  for (const Layer& layer : layers)
    if (layer.owns && layer.kind == StateKind::window)
      bytes += layer.both_bytes() / kPageTokens * static_cast<size_t>(window);
  return bytes;
}

size_t KvLayout::ring_bytes() const {
  size_t bytes = 0;
  for (const Layer& layer : layers)
    if (layer.owns && layer.kind == StateKind::window) bytes += layer.both_bytes() * static_cast<size_t>(ring_pages);
  return bytes;
}

size_t KvLayout::sequence_bytes(int32_t positions, int32_t most_rows) const {
  const auto pages = static_cast<size_t>((int64_t{positions} + kPageTokens - 1) / kPageTokens);
  const size_t ring = std::min(pages, static_cast<size_t>(ring_pages_for(most_rows)));
  return pages * block_bytes[StateKind::paged] + ring * block_bytes[StateKind::window];
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

size_t KvCache::slot_of(StateKind kind, int32_t page) const {
  return static_cast<size_t>(kind == StateKind::paged ? page : page % ring_pages_);
}

void KvCache::put(StateKind kind, size_t slot, KvBlockRef block) {
  std::vector<KvBlockRef>& blocks = held_[kind];
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
    for (const StateKind kind : kStateKinds) {
      const size_t slot = slot_of(kind, placed_pages_);
      std::vector<KvBlockRef>& blocks = held_[kind];
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
  return {pages.keys.data(), pages.values.data(), where.kind == StateKind::paged ? 0 : ring_pages_};
}

void KvCache::visit_blocks(const std::function<void(StateKind, const KvBlockRef&)>& visit) const {
  for (const StateKind kind : kStateKinds)
    for (const KvBlockRef& block : held_[kind])
      if (block) visit(kind, block);
}

size_t KvCache::bytes() const {
  size_t bytes = 0;
  visit_blocks([&](StateKind kind, const KvBlockRef&) { bytes += layout_->block_bytes[kind]; });
  return bytes;
}

KvCache::PageBlocks KvCache::page_blocks(int32_t page) const {
  CHECK(page >= 0 && (page + 1) * kPageTokens <= length_);
  PageBlocks blocks;
  for (const StateKind kind : kStateKinds)
    if (stays(kind, page)) blocks[kind] = held_[kind][slot_of(kind, page)];
  return blocks;
}

void KvCache::share(int32_t page, const PageBlocks& blocks) {
  CHECK(page >= 0 && (page + 1) * kPageTokens <= length_);
  for (const StateKind kind : kStateKinds)
    if (blocks[kind] && stays(kind, page)) put(kind, slot_of(kind, page), blocks[kind]);
}

void KvCache::adopt(std::span<const PageBlocks> pages) {
  const auto count = static_cast<int32_t>(pages.size());
  const int32_t first_seen = layout_->first_page_seen(count * kPageTokens);
  CHECK(placed_pages_ <= count && count * kPageTokens <= capacity_ && count - first_seen <= ring_pages_);
  for (int32_t page = 0; page < count; ++page) {
    const PageBlocks& blocks = pages[static_cast<size_t>(page)];
    for (const StateKind kind : kStateKinds) {
      if (kind == StateKind::window && page < first_seen) continue;
      CHECK(static_cast<bool>(blocks[kind]));
      put(kind, slot_of(kind, page), blocks[kind]);
    }
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
  for (const StateKind kind : kStateKinds) {
    const std::vector<KvBlockRef>& mine = held_[kind];
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
