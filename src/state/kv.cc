#include "state/kv.h"

#include <algorithm>

#include "base/check.h"

namespace paceline {
namespace {

// Head by head, so that units need not be as large as a layer's whole state; then the newest inputs, and a row of tape.
void add_recurrent_parts(const kernels::DeltaShape& shape, std::vector<StatePart>& parts) {
  const auto bytes = [](int64_t floats) { return static_cast<size_t>(floats) * sizeof(float); };
  for (int32_t h = 0; h < shape.value_heads; ++h) parts.push_back({StateKind::recurrent, bytes(shape.head_floats())});
  parts.push_back({StateKind::recurrent, bytes(shape.recent_floats())});
  parts.push_back({StateKind::tape, bytes(shape.row_floats())});
}

void place_recurrent(const UnitPlan::Place* places, KvLayout::Layer& layer) {
  const auto placed = [&](int32_t part) {
    return kernels::StatePlace{places[part].unit, static_cast<int64_t>(places[part].offset)};
  };
  const int32_t heads = layer.delta.value_heads;
  for (int32_t h = 0; h < heads; ++h) layer.state_heads.push_back(placed(h));
  layer.recent = placed(heads);
  layer.row = placed(heads + 1);
}

// Of a sequence that has an arena of its own: as many as may be taken back at once, and the drafts that stood before.
constexpr int64_t kOwnTapeRows = kMaxForwardRows + 32;

}  // namespace

KvLayout::KvLayout(const ModelState& state, const KvFormats& formats_in, kernels::Ops* backend)
    : formats(formats_in), window(state.window), draft_window(state.draft_window) {
  const kernels::Limits limits = backend != nullptr ? backend->limits() : kernels::Limits();
  ring_pages = ring_pages_for(kMaxForwardRows);
  std::vector<StatePart> parts;
  std::vector<size_t> first_part;  // of each layer
  for (const LayerState& reader : state.layers) {
    const auto from_layer = static_cast<size_t>(reader.kv_layer);
    if (from_layer < layers.size()) {
      layers.push_back(layers[from_layer]);
      layers.back().owns = false;
      first_part.push_back(first_part[from_layer]);
      continue;
    }
    first_part.push_back(parts.size());
    Layer layer;
    layer.kind = reader.kind;
    layer.owner = owners++;
    if (reader.kind == StateKind::recurrent) {
      layer.delta = reader.delta;
      add_recurrent_parts(reader.delta, parts);
      layers.push_back(layer);
      continue;
    }
    layer.kv_heads = reader.kv_heads;
    layer.head_dim = reader.head_dim;
    layer.dtype = reader.drafts ? formats.drafts() : formats.dtype[reader.kind];
    layer.joined = reader.joined;
    if (!formats.joined || !limits.joins(layer.shape(0))) layer.joined = 0;
    const kernels::KvPageBytes bytes = kernels::kv_page_bytes(layer.shape(0));
    layer.page_bytes = bytes.keys;
    layer.value_bytes = bytes.values;
    for (const size_t part : {bytes.keys, bytes.values}) parts.push_back({layer.kind, part});
    layers.push_back(layer);
  }
  const auto ring = [this](StateKind kind) { return ring_pages_for(kMaxForwardRows, kind); };
  const UnitPlan plan = plan_units(parts, {ring(StateKind::window), ring(StateKind::draft_window)});
  for (size_t i = 0; i < layers.size(); ++i) {
    const UnitPlan::Place* places = &plan.places[first_part[i]];
    if (layers[i].kind == StateKind::recurrent) {
      place_recurrent(places, layers[i]);
      continue;
    }
    layers[i].keys = places[0];
    layers[i].values = places[1];
  }
  blocks = {plan.unit_bytes, plan.block_units, backend};
  waste = plan.waste;
  for (const StateKind kind : kStateKinds)
    block_bytes[kind] = static_cast<size_t>(plan.block_units[kind]) * plan.unit_bytes;
}

// The window, the rows of one forward beyond it (of which kMaxForwardRows may be taken back again), and the part of a
// page that lies before the first position needed.
int32_t KvLayout::ring_pages_for(int32_t rows, StateKind kind) const {
  return (window_of(kind) + std::max(rows, kMaxForwardRows) + kPageTokens - 1) / kPageTokens + 1;
}

int32_t KvLayout::window_of(StateKind kind) const {
  if (grows(kind)) return 0;
  return kind == StateKind::window ? window : draft_window;
}

size_t KvLayout::bytes_per_token() const {
  size_t bytes = 0;
  for (const Layer& layer : layers)
    if (layer.owns && grows(layer.kind)) bytes += layer.both_bytes() / kPageTokens;
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

int64_t KvLayout::sequence_units(int32_t positions, int32_t most_rows, bool drafts) const {
  const int64_t pages = (int64_t{positions} + kPageTokens - 1) / kPageTokens;
  int64_t units = blocks.units[StateKind::recurrent];
  for (const StateKind kind : kPageKinds) {
    if (is_drafters(kind) && !drafts) continue;
    const int64_t held = grows(kind) ? pages : std::min<int64_t>(pages, ring_pages_for(most_rows, kind));
    units += held * blocks.units[kind];
  }
  return units;
}

int32_t KvLayout::state_step() const {
  if (!is_recurrent()) return 0;
  // Without pages, as often as not to matter.
  constexpr int32_t kMostPages = 64;
  int32_t pages = 1;
  const int32_t page_units = blocks.units[StateKind::paged] + blocks.units[StateKind::draft_paged];
  while (pages < kMostPages && pages * page_units < blocks.units[StateKind::recurrent]) pages *= 2;
  return pages * kPageTokens;
}

size_t KvLayout::recurrent_bytes() const {
  int64_t floats = 0;
  for (const Layer& layer : layers)
    if (layer.kind == StateKind::recurrent)
      floats += layer.delta.value_heads * layer.delta.head_floats() + layer.delta.recent_floats();
  return static_cast<size_t>(floats) * sizeof(float);
}

int32_t KvLayout::first_page_seen(int32_t pos, StateKind kind) const {
  return std::max(0, pos - window_of(kind) + 1) / kPageTokens;
}

int32_t KvLayout::first_page_needed(int32_t pos, StateKind kind) const {
  return grows(kind) ? 0 : first_page_seen(pos, kind);
}

KvCache::KvCache(const KvLayout& layout, int32_t capacity, int32_t most_rows, std::shared_ptr<KvBlockPool> pool,
                 bool drafts)
    : layout_(&layout), pool_(std::move(pool)), capacity_(capacity), most_rows_(most_rows), drafts_(drafts) {
  CHECK(most_rows >= kMaxForwardRows && most_rows <= kMostForwardRows);
  if (pool_ == nullptr)
    pool_ = std::make_shared<KvBlockPool>(layout.blocks, layout.sequence_bytes(capacity, most_rows, drafts) +
                                                             kOwnTapeRows * layout.block_bytes[StateKind::tape]);
  // Where the numbers lie is what a device knows them by.
  const auto pages = static_cast<size_t>((int64_t{capacity} + kPageTokens - 1) / kPageTokens);
  for (const StateKind kind : kGrowingKinds)
    numbers_[kind].reserve(pages * static_cast<size_t>(layout.blocks.units[kind]));
  for (const StateKind kind : kWindowKinds) {
    ring_pages_[kind] = layout.ring_pages_for(kMostForwardRows, kind);
    const size_t ring = std::min(pages, static_cast<size_t>(ring_pages_[kind]));
    numbers_[kind].reserve(ring * static_cast<size_t>(layout.blocks.units[kind]));
  }
  numbers_[StateKind::recurrent].reserve(static_cast<size_t>(layout.blocks.units[StateKind::recurrent]));
  numbers_[StateKind::tape].reserve(tape_slot(2, 0) * static_cast<size_t>(layout.blocks.units[StateKind::tape]));
}

size_t KvCache::slot_of(StateKind kind, int32_t page) const {
  return static_cast<size_t>(grows(kind) ? page : page % ring_pages_[kind]);
}

void KvCache::put(StateKind kind, size_t slot, KvBlockRef block) {
  std::vector<KvBlockRef>& blocks = held_[kind];
  if (blocks.size() <= slot) blocks.resize(slot + 1);
  const std::span<const int32_t> units = block.units();
  std::vector<int32_t>& numbers = numbers_[kind];
  if (numbers.size() < (slot + 1) * units.size()) numbers.resize((slot + 1) * units.size());
  std::copy(units.begin(), units.end(), numbers.begin() + static_cast<std::ptrdiff_t>(slot * units.size()));
  stamps_[kind] = pool_->next_stamp();
  units_ += static_cast<int64_t>(units.size()) - (blocks[slot] ? static_cast<int64_t>(units.size()) : 0);
  blocks[slot] = std::move(block);
}

bool KvCache::reserve(int32_t count, int32_t drafts) {
  CHECK(count <= kMostForwardRows && length_ + count <= capacity_);
  CHECK(drafts >= 0 && drafts <= count && drafts <= kMaxForwardRows);
  drop_behind(count);
  if (!reserve_pages(count)) return false;
  return !layout_->is_recurrent() || (own_state() && reserve_tape(drafts));
}

bool KvCache::own_state() {
  std::vector<KvBlockRef>& held = held_[StateKind::recurrent];
  if (!held.empty() && held[0] && held[0].alone()) return true;
  KvBlockRef block = pool_->take(StateKind::recurrent);
  // What was only kept for later has been given up by now: it may be nobody else's any more.
  if (!block) return !held.empty() && held[0] && held[0].alone();
  if (!held.empty() && held[0]) pool_->copy(block, held[0]);
  put(StateKind::recurrent, 0, std::move(block));
  return true;
}

bool KvCache::reserve_tape(int32_t rows) {
  for (int32_t row = 0; row < rows; ++row) {
    const size_t slot = tape_slot(1 - tape_side_, row);
    if (slot < held_[StateKind::tape].size() && held_[StateKind::tape][slot]) continue;
    KvBlockRef block = pool_->take(StateKind::tape);
    if (!block) return false;
    put(StateKind::tape, slot, std::move(block));
  }
  return true;
}

void KvCache::drop_tape(int32_t side, int32_t from) {
  std::vector<KvBlockRef>& held = held_[StateKind::tape];
  for (size_t slot = tape_slot(side, from); slot < std::min(held.size(), tape_slot(side + 1, 0)); ++slot) {
    if (!held[slot]) continue;
    held[slot].give_back();
    units_ -= layout_->blocks.units[StateKind::tape];
  }
}

bool KvCache::reserve_pages(int32_t count) {
  const int32_t pages_needed = (length_ + count + kPageTokens - 1) / kPageTokens;
  for (; placed_pages_ < pages_needed; ++placed_pages_) {
    for (const StateKind kind : kPageKinds) {
      if (!has(kind)) continue;
      const size_t slot = slot_of(kind, placed_pages_);
      // What an earlier text has left is written over, unless others still read it.
      if (slot < held_[kind].size() && held_[kind][slot]) {
        if (held_[kind][slot].alone()) continue;
        drop(kind, placed_pages_);
      }
      KvBlockRef block = pool_->take(kind);
      if (!block) return false;
      put(kind, slot, std::move(block));
    }
  }
  return true;
}

void KvCache::drop(StateKind kind, int32_t page) {
  if (!has(kind)) return;
  KvBlockRef& block = held_[kind][slot_of(kind, page)];
  if (!block) return;
  block.give_back();
  units_ -= layout_->blocks.units[kind];
}

// What the rows see that come now, and those that come in the place of any that are taken back behind them.
void KvCache::drop_behind(int32_t count) {
  const int32_t longest = std::max(written_, length_ + count);
  const int32_t from = std::min(length_, std::max(0, longest - kMaxForwardRows));
  for (const StateKind kind : kWindowKinds) {
    const int32_t seen = std::min(layout_->first_page_seen(from, kind), placed_pages_);
    for (int32_t& begin = window_begin_[kind]; begin < seen; ++begin) drop(kind, begin);
  }
}

void KvCache::commit(int32_t count, int32_t drafts) {
  length_ += count;
  state_length_ = length_ - drafts;
  drop_tape(tape_side_, 0);
  tape_side_ = 1 - tape_side_;
  drop_tape(tape_side_, drafts);
  written_ = std::max(written_, length_);
}

void KvCache::truncate(int32_t length) {
  CHECK(length >= 0 && length <= length_);
  // What the ring still holds must reach back to the window of the new last position.
  CHECK(length == 0 || written_ - length <= kMaxForwardRows);
  CHECK(length == 0 || !layout_->is_recurrent() || length >= state_length_);
  length_ = length;
  if (length > 0) return drop_tape(tape_side_, length - state_length_);
  for (const StateKind kind : {StateKind::recurrent, StateKind::tape})
    for (KvBlockRef& block : held_[kind]) {
      if (!block) continue;
      block.give_back();
      units_ -= layout_->blocks.units[kind];
    }
  state_length_ = 0;
  for (const StateKind kind : kWindowKinds)
    for (int32_t& begin = window_begin_[kind]; begin < placed_pages_; ++begin) drop(kind, begin);
  window_begin_ = {};
  written_ = placed_pages_ = 0;
}

void KvCache::release() {
  for (const StateKind kind : kStateKinds) {
    held_[kind].clear();
    numbers_[kind].clear();
  }
  window_begin_ = {};
  length_ = written_ = placed_pages_ = state_length_ = 0;
  units_ = 0;
}

kernels::KvPages KvCache::pages(int32_t layer) const {
  const KvLayout::Layer& where = layout_->layers[static_cast<size_t>(layer)];
  kernels::KvPages pages;
  pages.numbers = numbers_[where.kind].data();
  pages.stamp = stamps_[where.kind];
  pages.keys = pool_->arena().base() + where.keys.offset;
  pages.values = pool_->arena().base() + where.values.offset;
  pages.unit_bytes = static_cast<int64_t>(layout_->blocks.unit_bytes);
  pages.block_units = layout_->blocks.units[where.kind];
  pages.key_unit = where.keys.unit;
  pages.value_unit = where.values.unit;
  pages.slots = grows(where.kind) ? 0 : ring_pages_[where.kind];
  return pages;
}

kernels::DeltaPlaces KvCache::delta_places(int32_t layer) const {
  const KvLayout::Layer& where = layout_->layers[static_cast<size_t>(layer)];
  kernels::DeltaPlaces places;
  places.base = pool_->arena().base();
  places.unit_bytes = static_cast<int64_t>(layout_->blocks.unit_bytes);
  places.heads = where.state_heads.data();
  places.recent = where.recent;
  places.row = where.row;
  places.row_units = layout_->blocks.units[StateKind::tape];
  return places;
}

kernels::DeltaSpan KvCache::delta_span(int32_t count, int32_t drafts) const {
  const auto row_units = static_cast<size_t>(layout_->blocks.units[StateKind::tape]);
  const int32_t* tape = numbers_[StateKind::tape].data();
  kernels::DeltaSpan span;
  span.count = count;
  span.certain = count - drafts;
  span.replayed = length_ - state_length_;
  span.state = numbers_[StateKind::recurrent].data();
  span.kept = tape + tape_slot(tape_side_, 0) * row_units;
  span.keeps = tape + tape_slot(1 - tape_side_, 0) * row_units;
  return span;
}

void KvCache::visit_blocks(const std::function<void(StateKind, const KvBlockRef&)>& visit) const {
  for (const StateKind kind : kStateKinds)
    for (const KvBlockRef& block : held_[kind])
      if (block) visit(kind, block);
}

KvCache::PageBlocks KvCache::page_blocks(int32_t page) const {
  CHECK(drafts_ && page >= 0 && page * kPageTokens < length_);
  PageBlocks blocks;
  for (const StateKind kind : kPageKinds)
    if (stays(kind, page)) blocks[kind] = held_[kind][slot_of(kind, page)];
  if (layout_->is_recurrent() && state_length_ == (page + 1) * kPageTokens)
    blocks[StateKind::recurrent] = held_[StateKind::recurrent][0];
  return blocks;
}

void KvCache::share(int32_t page, const PageBlocks& blocks) {
  CHECK(drafts_ && page >= 0 && (page + 1) * kPageTokens <= length_);
  for (const StateKind kind : kPageKinds)
    if (blocks[kind] && stays(kind, page)) put(kind, slot_of(kind, page), blocks[kind]);
}

void KvCache::adopt(std::span<const PageBlocks> pages) {
  const auto count = static_cast<int32_t>(pages.size());
  CHECK(drafts_ && placed_pages_ <= count && count * kPageTokens <= capacity_);
  for (const StateKind kind : kPageKinds) {
    const int32_t first = layout_->first_page_needed(count * kPageTokens, kind);
    if (!grows(kind)) {
      CHECK(count - first <= ring_pages_[kind]);
      for (int32_t& begin = window_begin_[kind]; begin < std::min(first, placed_pages_); ++begin) drop(kind, begin);
      window_begin_[kind] = first;
    }
    for (int32_t page = first; page < count; ++page) {
      const KvBlockRef& block = pages[static_cast<size_t>(page)][kind];
      CHECK(static_cast<bool>(block));
      put(kind, slot_of(kind, page), block);
    }
  }
  if (layout_->is_recurrent() && count > 0) {
    CHECK(static_cast<bool>(pages.back()[StateKind::recurrent]));
    put(StateKind::recurrent, 0, pages.back()[StateKind::recurrent]);
    for (const int32_t side : {0, 1}) drop_tape(side, 0);
  }
  state_length_ = count * kPageTokens;
  length_ = written_ = count * kPageTokens;
  placed_pages_ = count;
}

bool KvCache::adopt_open(const PageBlocks& page, int32_t tokens) {
  CHECK(drafts_ && !layout_->is_recurrent() && length_ == placed_pages_ * kPageTokens);
  CHECK(tokens > 0 && tokens < kPageTokens && length_ + tokens <= capacity_);
  PageBlocks copies;
  for (const StateKind kind : kPageKinds) {
    copies[kind] = pool_->take(kind);
    if (!copies[kind]) return false;
    if (layout_->blocks.units[kind] > 0) pool_->copy(copies[kind], page[kind]);
  }
  for (const StateKind kind : kPageKinds) put(kind, slot_of(kind, placed_pages_), std::move(copies[kind]));
  ++placed_pages_;
  length_ += tokens;
  written_ = state_length_ = length_;
  return true;
}

std::optional<KvCache> KvCache::fork() const {
  std::optional<KvCache> made(empty_one());
  KvCache& other = *made;
  other.length_ = length_;
  other.written_ = written_;
  other.placed_pages_ = placed_pages_;
  other.window_begin_ = window_begin_;
  other.state_length_ = state_length_;
  other.tape_side_ = tape_side_;
  const int32_t open_page = length_ / kPageTokens;
  for (const StateKind kind : kStateKinds) {
    const std::vector<KvBlockRef>& mine = held_[kind];
    for (size_t slot = 0; slot < mine.size(); ++slot) {
      if (mine[slot]) other.put(kind, slot, mine[slot]);
    }
    if (kind == StateKind::recurrent || kind == StateKind::tape) continue;  // whoever writes them copies them first
    if (!has(kind)) continue;
    // What either may still write: the page of the next position and, where rows were taken back, those behind it.
    for (int32_t page = open_page; page < placed_pages_; ++page) {
      const size_t slot = slot_of(kind, page);
      KvBlockRef copy = pool_->take(kind);
      if (!copy) return std::nullopt;
      pool_->copy(copy, mine[slot]);
      other.put(kind, slot, std::move(copy));
    }
  }
  return made;
}

}  // namespace paceline
