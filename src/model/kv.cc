#include "model/kv.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace paceline {

KvLayout::KvLayout(const ModelConfig& config, DType dtype_in) : dtype(dtype_in), window(config.window) {
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

KvCache::KvCache(const KvLayout& layout, int32_t capacity, int32_t most_rows)
    : layout_(&layout),
      capacity_(capacity),
      most_rows_(most_rows),
      ring_pages_(layout.ring_pages_for(most_rows)),
      owners_(static_cast<size_t>(layout.owners)) {
  CHECK(most_rows >= kMaxForwardRows && most_rows <= kMaxImageRows);
}

void KvCache::add_page(const KvLayout::Layer& layer, Pages& pages) {
  // Zeroed, since attention multiplies what it masks by zero: that must be a number.
  pages.blocks.push_back(std::make_unique<std::byte[]>(2 * layer.page_bytes + 64));
  auto address = reinterpret_cast<uintptr_t>(pages.blocks.back().get());
  auto* aligned = reinterpret_cast<std::byte*>((address + 63) / 64 * 64);
  pages.keys.push_back(aligned);
  pages.values.push_back(aligned + layer.page_bytes);
  bytes_ += 2 * layer.page_bytes + 64;
}

void KvCache::reserve(int32_t count) {
  CHECK(count <= most_rows_ && length_ + count <= capacity_);
  const auto pages_needed = static_cast<size_t>((length_ + count + kPageTokens - 1) / kPageTokens);
  for (const KvLayout::Layer& layer : layout_->layers) {
    if (!layer.owns) continue;
    Pages& pages = owners_[static_cast<size_t>(layer.owner)];
    const size_t needed =
        layer.kind == LayerKind::global ? pages_needed : std::min(pages_needed, static_cast<size_t>(ring_pages_));
    while (pages.keys.size() < needed) add_page(layer, pages);
  }
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
  if (length == 0) written_ = 0;
}

kernels::KvPages KvCache::pages(int32_t layer) const {
  const KvLayout::Layer& where = layout_->layers[static_cast<size_t>(layer)];
  const Pages& pages = owners_[static_cast<size_t>(where.owner)];
  return {pages.keys.data(), pages.values.data(), where.kind == LayerKind::global ? 0 : ring_pages_};
}

}  // namespace paceline
