// Keys and values of one sequence. Every KV-owning layer keeps pages of kPageTokens positions, of as many bytes as
// kernels/ops.h says.
//
// Page borders are absolute positions (page = pos / kPageTokens), so attention walks the same tiles whatever was
// computed beside. Paged layers have one page per kPageTokens positions. Window layers have a ring: the page of
// pos is slot (pos / kPageTokens) mod ring_pages, and the ring is long enough for the window, the rows of one forward
// and the tokens that may be taken back.
#pragma once

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
#include "tensor/dtype.h"

namespace paceline {

using kernels::kPageTokens;
// Rows that one forward may hold; also how far back truncate() is exact in a window.
inline constexpr int32_t kMaxForwardRows = 256;
// Where an image's tokens see each other both ways, one forward has to hold them all: as many as the largest budget
// gives. Only sequences made for it (KvCache) take so many at once.
inline constexpr int32_t kMaxImageRows = 1120;
static_assert(kMaxImageRows >= kMaxForwardRows);

// Where the layers' keys and values lie; the same for all sequences of a model.
struct KvLayout {
  struct Layer {
    StateKind kind = StateKind::window;
    int32_t kv_heads = 0;
    int32_t head_dim = 0;
    int32_t owner = 0;  // index among the owning layers: where its pages are
    bool owns = true;   // false: reads an earlier layer's
    DType dtype = DType::bf16;
    int32_t joined = 0;      // as kernels::HeadShape has it
    size_t page_bytes = 0;   // of keys, or of both where they are joined
    size_t value_bytes = 0;  // of values
    size_t offset = 0;       // of its keys in a block of its kind; values lie behind them

    // For so many query heads.
    [[nodiscard]] kernels::HeadShape shape(int32_t heads) const { return {heads, kv_heads, head_dim, dtype, joined}; }
    [[nodiscard]] size_t both_bytes() const { return page_bytes + value_bytes; }
  };
  KvFormats formats = DType::bf16;
  int32_t window = 0;
  int32_t ring_pages = 0;
  int32_t owners = 0;
  std::vector<Layer> layers;  // one per model layer; shared layers repeat their owner's entry
  KvBlockPool::Sizes block_bytes;

  KvLayout() = default;
  // backend: whose memory keys and values are; none: the host's.
  KvLayout(const ModelState& state, const KvFormats& formats, kernels::Ops* backend = nullptr);

  // The ring of a sequence that runs up to so many rows at once.
  [[nodiscard]] int32_t ring_pages_for(int32_t rows) const;
  [[nodiscard]] size_t bytes_per_token() const;  // paged layers only: what grows
  [[nodiscard]] size_t window_bytes() const;     // window layers: window tokens, without slack
  [[nodiscard]] size_t ring_bytes() const;       // window layers as allocated
  // The most that a sequence of so many positions, run in up to so many rows at once, takes of a pool.
  [[nodiscard]] size_t sequence_bytes(int32_t positions, int32_t most_rows) const;
  // The first page that rows at `pos` and later see of a window.
  [[nodiscard]] int32_t first_page_seen(int32_t pos) const;
};

class KvCache {
 public:
  // capacity: the most positions this sequence may reach. Memory is taken page by page: of the pool, or without one of
  // the cache's own.
  // most_rows: of one forward, kMaxForwardRows to kMaxImageRows; the ring of window layers is as long as that needs.
  KvCache(const KvLayout& layout, int32_t capacity, int32_t most_rows = kMaxForwardRows,
          std::shared_ptr<KvBlockPool> pool = nullptr);

  [[nodiscard]] const KvLayout& layout() const { return *layout_; }
  [[nodiscard]] int32_t length() const { return length_; }
  [[nodiscard]] int32_t capacity() const { return capacity_; }

  // Takes back all tokens from `length` on. Exact on every layer kind for up to kMaxForwardRows tokens back
  // from the longest the sequence has been, and to 0.
  void truncate(int32_t length);

  // For forward: makes room for `count` more positions, then (after the rows are written) counts them in. False: the
  // pool has no more; then nothing may be written behind what stands.
  [[nodiscard]] bool reserve(int32_t count);
  void commit(int32_t count);

  [[nodiscard]] kernels::KvPages pages(int32_t layer) const;
  // Taken so far.
  [[nodiscard]] size_t bytes() const;

  // A page's blocks, for others to start from; of the window none where the ring has gone on. The page lies wholly
  // below length(), and is never written again.
  using PageBlocks = ByKind<KvBlockRef>;
  [[nodiscard]] PageBlocks page_blocks(int32_t page) const;
  // Another's blocks of the same page, with the same numbers in them, instead of its own.
  void share(int32_t page, const PageBlocks& blocks);
  // Takes over pages 0 … of another sequence's beginning, which is its own and goes further than it has come. Blocks
  // of the window are needed from first_page_seen(pages.size() * kPageTokens) on.
  void adopt(std::span<const PageBlocks> pages);
  // Goes on from the same positions by itself: whole pages are shared, the last one is copied where it is not full.
  // None: the pool has no more.
  [[nodiscard]] std::optional<KvCache> fork() const;

  // All that it holds.
  void visit_blocks(const std::function<void(StateKind, const KvBlockRef&)>& visit) const;

 private:
  struct LayerPages {
    std::vector<void*> keys, values;
  };
  void put(StateKind kind, size_t slot, KvBlockRef block);
  [[nodiscard]] size_t slot_of(StateKind kind, int32_t page) const;
  // Its place has not been given to a later page, as in a ring.
  [[nodiscard]] bool stays(StateKind kind, int32_t page) const {
    return kind == StateKind::paged || page + ring_pages_ >= placed_pages_;
  }

  const KvLayout* layout_;
  std::shared_ptr<KvBlockPool> pool_;
  int32_t capacity_;
  int32_t most_rows_;
  int32_t ring_pages_;
  int32_t length_ = 0;
  // Window layers hold keys of positions from here on, minus the ring; see truncate().
  int32_t written_ = 0;
  int32_t placed_pages_ = 0;  // pages 0 … have had their blocks
  ByKind<std::vector<KvBlockRef>> held_;
  std::vector<LayerPages> owners_;
};

}  // namespace paceline
