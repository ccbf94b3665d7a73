// Keys and values of one sequence. Every KV-owning layer keeps pages of kPageTokens positions, of as many bytes as
// kernels/ops.h says.
//
// Page borders are absolute positions (page = pos / kPageTokens), so attention walks the same tiles whatever was
// computed beside. Paged layers have one page per kPageTokens positions. Window layers have a ring of slots, as many as
// the window and the most rows of one forward need, and hold only pages that are still seen: as many as the window, the
// rows that run and the tokens that may be taken back.
//
// Recurrent layers have one state, which stands behind all rows that cannot be taken back any more. What the rows
// behind it did is on a tape: those that stay are run again, without their projections, when the next rows come.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kernels/ops.h"
#include "state/kv_blocks.h"
#include "state/kv_formats.h"
#include "state/state_kind.h"
#include "state/unit_plan.h"
#include "tensor/dtype.h"

namespace paceline {

using kernels::kPageTokens;
// The most rows that one forward may hold.
inline constexpr int32_t kMostForwardRows = 2048;
// Rows that a sequence has room for however short memory is; also how far back truncate() is exact in a window.
inline constexpr int32_t kMaxForwardRows = 256;
// Where an image's tokens see each other both ways, one forward has to hold them all: as many as the largest budget
// gives. Only sequences made for it (KvCache) take so many at once.
inline constexpr int32_t kMaxImageRows = 1120;
static_assert(kMaxForwardRows <= kMaxImageRows && kMaxImageRows <= kMostForwardRows);

// Where the layers' keys and values lie; the same for all sequences of a model.
struct KvLayout {
  struct Layer {
    StateKind kind = StateKind::window;
    int32_t kv_heads = 0;
    int32_t head_dim = 0;
    int32_t owner = 0;  // index among the owning layers
    bool owns = true;   // false: reads an earlier layer's
    DType dtype = DType::bf16;
    int32_t joined = 0;            // as kernels::HeadShape has it
    size_t page_bytes = 0;         // of keys, or of both where they are joined
    size_t value_bytes = 0;        // of values
    UnitPlan::Place keys, values;  // in a block of its kind
    // Of a recurrent layer, in the blocks of a state and of a row of tape.
    kernels::DeltaShape delta;
    std::vector<kernels::StatePlace> state_heads;
    kernels::StatePlace recent, row;

    // For so many query heads.
    [[nodiscard]] kernels::HeadShape shape(int32_t heads) const { return {heads, kv_heads, head_dim, dtype, joined}; }
    [[nodiscard]] size_t both_bytes() const { return page_bytes + value_bytes; }
  };
  KvFormats formats = DType::bf16;
  int32_t window = 0, draft_window = 0;
  int32_t ring_pages = 0;  // of the model's window
  int32_t owners = 0;
  std::vector<Layer> layers;  // one per model layer; shared layers repeat their owner's entry
  KvBlockPool::Shape blocks;
  ByKind<size_t> block_bytes;  // as taken
  ByKind<double> waste;        // the share of a block that no layer uses

  KvLayout() = default;
  // backend: whose memory keys and values are; none: the host's.
  KvLayout(const ModelState& state, const KvFormats& formats, kernels::Ops* backend = nullptr);

  // Positions that layers of the kind see; 0: all.
  [[nodiscard]] int32_t window_of(StateKind kind) const;
  // Pages of a window that a sequence holds while up to so many rows run at once.
  [[nodiscard]] int32_t ring_pages_for(int32_t rows, StateKind kind = StateKind::window) const;
  [[nodiscard]] size_t bytes_per_token() const;  // paged layers only: what grows
  [[nodiscard]] size_t window_bytes() const;     // window layers: window tokens, without slack
  [[nodiscard]] size_t ring_bytes() const;       // window layers as allocated
  [[nodiscard]] size_t recurrent_bytes() const;  // recurrent layers: a state
  [[nodiscard]] bool is_recurrent() const { return blocks.units[StateKind::recurrent] > 0; }
  // Recurrent states are worth keeping at multiples of so many positions, whole pages: where one weighs no more than
  // the keys and values between. 0: there are none.
  [[nodiscard]] int32_t state_step() const;
  // The most that a sequence of so many positions, run in up to so many rows at once, takes of a pool; without tapes,
  // which nobody has to have. drafts: with a drafter's layers.
  [[nodiscard]] int64_t sequence_units(int32_t positions, int32_t most_rows, bool drafts = true) const;
  [[nodiscard]] size_t sequence_bytes(int32_t positions, int32_t most_rows, bool drafts = true) const {
    return static_cast<size_t>(sequence_units(positions, most_rows, drafts)) * blocks.unit_bytes;
  }
  // The first page that rows at `pos` and later see of a window.
  [[nodiscard]] int32_t first_page_seen(int32_t pos, StateKind kind = StateKind::window) const;
  // The first page that a sequence which goes on at `pos` needs a block of; of the window kinds, those that layers
  // have.
  [[nodiscard]] int32_t first_page_needed(int32_t pos, StateKind kind) const;
};

class KvCache {
 public:
  // capacity: the most positions this sequence may reach. Memory is taken page by page: of the pool, or without one of
  // an arena of its own, as large as the capacity needs.
  // most_rows: of one forward, kMaxForwardRows to kMostForwardRows, which an arena of its own has room for.
  // drafts: with a drafter's layers; without, its pages are for none of the calls that hand pages on.
  KvCache(const KvLayout& layout, int32_t capacity, int32_t most_rows = kMaxForwardRows,
          std::shared_ptr<KvBlockPool> pool = nullptr, bool drafts = true);

  [[nodiscard]] const KvLayout& layout() const { return *layout_; }
  [[nodiscard]] int32_t length() const { return length_; }
  [[nodiscard]] int32_t capacity() const { return capacity_; }

  // Takes back all tokens from `length` on. Exact on every layer kind for up to kMaxForwardRows tokens back
  // from the longest the sequence has been, and to 0; where there are recurrent layers, of the newest rows those that
  // were run as drafts.
  void truncate(int32_t length);
  // Gives all pages up: nothing has been run.
  void release();

  // For forward: makes room for `count` more positions, then (after the rows are written) counts them in. drafts: of
  // them, the last ones, which may be taken back. False: the pool has no more; then nothing may be written behind what
  // stands.
  [[nodiscard]] bool reserve(int32_t count, int32_t drafts = 0);
  void commit(int32_t count, int32_t drafts = 0);
  // Positions behind what stands that there is room for already.
  [[nodiscard]] int32_t room() const { return std::min(placed_pages_ * kPageTokens, capacity_) - length_; }

  [[nodiscard]] kernels::KvPages pages(int32_t layer) const;
  // Where a recurrent layer's states lie, and this sequence's for rows that are reserved; all but the first of them.
  [[nodiscard]] kernels::DeltaPlaces delta_places(int32_t layer) const;
  [[nodiscard]] kernels::DeltaSpan delta_span(int32_t count, int32_t drafts) const;
  // Taken so far.
  [[nodiscard]] int64_t units() const { return units_; }
  [[nodiscard]] size_t bytes() const { return static_cast<size_t>(units()) * layout_->blocks.unit_bytes; }

  // A page's blocks, for others to start from; of the window none where the ring has gone on, and a recurrent state
  // only where it stands at the page's end. What lies below length() is never written again.
  using PageBlocks = ByKind<KvBlockRef>;
  [[nodiscard]] PageBlocks page_blocks(int32_t page) const;
  // Another's blocks of the same page, with the same numbers in them, instead of its own.
  void share(int32_t page, const PageBlocks& blocks);
  // Takes over pages 0 … of another sequence's beginning, which is its own and goes further than it has come. Blocks
  // of a window are needed from first_page_needed(pages.size() * kPageTokens) on, the recurrent state of the last.
  void adopt(std::span<const PageBlocks> pages);
  // Behind whole pages: goes on from within another's, of which the first tokens are its own too, with a copy. False:
  // the pool has no more.
  bool adopt_open(const PageBlocks& page, int32_t tokens);
  // Goes on from the same positions by itself: whole pages are shared, the last one is copied where it is not full.
  // None: the pool has no more.
  [[nodiscard]] std::optional<KvCache> fork() const;
  // Of the same shape and the same pool, and nothing in it.
  [[nodiscard]] KvCache empty_one() const { return {*layout_, capacity_, most_rows_, pool_, drafts_}; }

  // All that it holds.
  void visit_blocks(const std::function<void(StateKind, const KvBlockRef&)>& visit) const;

 private:
  void put(StateKind kind, size_t slot, KvBlockRef block);
  [[nodiscard]] size_t slot_of(StateKind kind, int32_t page) const;
  // It has not been given back, as what lies behind the window is.
  [[nodiscard]] bool stays(StateKind kind, int32_t page) const { return grows(kind) || page >= window_begin_[kind]; }
  [[nodiscard]] bool has(StateKind kind) const { return drafts_ || !is_drafters(kind); }
  void drop(StateKind kind, int32_t page);
  // Pages of the window that nobody sees any more, once so many rows are run.
  void drop_behind(int32_t count);
  [[nodiscard]] bool reserve_pages(int32_t count);
  // A state that nobody else reads.
  [[nodiscard]] bool own_state();
  [[nodiscard]] bool reserve_tape(int32_t rows);
  // Of tape rows on a side, those from this one on.
  void drop_tape(int32_t side, int32_t from);
  [[nodiscard]] static size_t tape_slot(int32_t side, int32_t row) {
    return static_cast<size_t>(side * kMaxForwardRows + row);
  }

  const KvLayout* layout_;
  std::shared_ptr<KvBlockPool> pool_;
  int32_t capacity_;
  int32_t most_rows_;
  bool drafts_;
  ByKind<int32_t> ring_pages_;
  int32_t length_ = 0;
  int32_t written_ = 0;           // the longest that it has been
  ByKind<int32_t> window_begin_;  // pages of a window from here on are held
  int32_t placed_pages_ = 0;      // pages 0 … have had their blocks
  int32_t state_length_ = 0;      // where the recurrent state stands; rows from here on are on the tape
  int32_t tape_side_ = 0;         // of two: while rows are run again from one, others are written on the other
  ByKind<std::vector<KvBlockRef>> held_;
  ByKind<std::vector<int32_t>> numbers_;  // [slots, block_units] of the units of those that are held
  ByKind<uint64_t> stamps_;               // of these, as kernels::KvPages has them
  int64_t units_ = 0;                     // of those that are held
};

}  // namespace paceline
