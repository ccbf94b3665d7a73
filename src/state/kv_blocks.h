// Blocks of an arena's units: one holds kPageTokens positions of all layers of a kind. Blocks have counted owners:
// sequences that share a beginning share its blocks, and so does whoever keeps them for later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "state/arena.h"
#include "state/state_kind.h"

namespace paceline {

class KvBlockPool;

struct KvBlock {
  KvBlockPool* pool = nullptr;
  StateKind kind = StateKind::window;
  int32_t owners = 0;
  int32_t keepers = 0;         // of them, those that keep it for later
  std::vector<int32_t> units;  // none where the model has no layers of the kind
};

// One of a block's owners.
class KvBlockRef {
 public:
  KvBlockRef() = default;
  explicit KvBlockRef(KvBlock* block) : block_(block) { count(1, 0); }
  KvBlockRef(const KvBlockRef& other) : block_(other.block_) {
    if (block_ != nullptr) count(1, 0);
  }
  KvBlockRef(KvBlockRef&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  KvBlockRef& operator=(KvBlockRef other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~KvBlockRef() { give_back(); }

  explicit operator bool() const { return block_ != nullptr; }
  [[nodiscard]] std::span<const int32_t> units() const { return block_->units; }
  // Nobody else would see what is written.
  [[nodiscard]] bool alone() const { return block_->owners == 1; }
  // Which one, for who counts them.
  [[nodiscard]] const KvBlock* block() const { return block_; }
  void give_back();

 private:
  friend class KeptBlock;
  void count(int32_t owners, int32_t keepers);

  KvBlock* block_ = nullptr;
};

// An owner that keeps a block for later, and would give it up for others.
class KeptBlock {
 public:
  KeptBlock() = default;
  KeptBlock(const KeptBlock&) = delete;
  KeptBlock& operator=(const KeptBlock&) = delete;
  ~KeptBlock() { give_up(); }

  void keep(KvBlockRef block);
  void give_up();
  explicit operator bool() const { return static_cast<bool>(block_); }
  [[nodiscard]] const KvBlockRef& block() const { return block_; }

 private:
  KvBlockRef block_;
};

// Of one engine, and one thread.
class KvBlockPool {
 public:
  struct Shape {
    size_t unit_bytes = 0;
    ByKind<int32_t> units;            // of a block
    kernels::Ops* backend = nullptr;  // whose memory it is; none: the host's
  };
  KvBlockPool(const Shape& shape, size_t capacity_bytes);
  KvBlockPool(const KvBlockPool&) = delete;
  KvBlockPool& operator=(const KvBlockPool&) = delete;

  // Zeroed, but for tapes. None: there are not so many units, and there is nothing left to be given up.
  [[nodiscard]] KvBlockRef take(StateKind kind);
  void copy(const KvBlockRef& to, const KvBlockRef& from) const;
  // For numbers of units that have changed (kernels::KvPages); 0 in the host's memory, where nobody asks.
  [[nodiscard]] uint64_t next_stamp() const { return shape_.backend != nullptr ? shape_.backend->next_stamp() : 0; }

  [[nodiscard]] Arena& arena() { return arena_; }
  [[nodiscard]] const Arena& arena() const { return arena_; }
  [[nodiscard]] int32_t block_units(StateKind kind) const { return shape_.units[kind]; }
  // Of blocks that are only kept for later.
  [[nodiscard]] int32_t kept_units() const { return kept_units_; }
  // That whoever asks can have: nobody's, or given up when they are asked for.
  [[nodiscard]] int32_t available_units() const { return arena_.free_units() + kept_units_; }
  [[nodiscard]] size_t used_bytes() const { return bytes(arena_.units() - arena_.free_units()); }
  [[nodiscard]] size_t kept_bytes() const { return bytes(kept_units_); }
  [[nodiscard]] size_t capacity_bytes() const { return bytes(arena_.units()); }

 private:
  friend class KvBlockRef;
  void free(KvBlock* block);
  [[nodiscard]] size_t bytes(int32_t units) const { return static_cast<size_t>(units) * shape_.unit_bytes; }

  Shape shape_;
  Arena arena_;
  int32_t kept_units_ = 0;
};

}  // namespace paceline
