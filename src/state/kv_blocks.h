// Memory for keys and values in blocks: one block holds kPageTokens positions of all layers of a kind. Blocks have
// counted owners: sequences that share a beginning share its blocks, and so does whoever keeps them for later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/ops.h"
#include "state/state_kind.h"

namespace paceline {

class KvBlockPool;

struct KvBlock {
  KvBlockPool* pool = nullptr;
  StateKind kind = StateKind::window;
  int32_t owners = 0;
  std::byte* memory = nullptr;  // aligned to 64 bytes; none where the model has no layers of the kind
  std::shared_ptr<void> keeps;  // it
};

// One of a block's owners.
class KvBlockRef {
 public:
  KvBlockRef() = default;
  explicit KvBlockRef(KvBlock* block) : block_(block) { ++block->owners; }
  KvBlockRef(const KvBlockRef& other) : block_(other.block_) {
    if (block_ != nullptr) ++block_->owners;
  }
  KvBlockRef(KvBlockRef&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  KvBlockRef& operator=(KvBlockRef other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~KvBlockRef() { give_back(); }

  explicit operator bool() const { return block_ != nullptr; }
  [[nodiscard]] std::byte* memory() const { return block_->memory; }
  // Nobody else would see what is written.
  [[nodiscard]] bool alone() const { return block_->owners == 1; }
  // Which one, for who counts them.
  [[nodiscard]] const KvBlock* block() const { return block_; }
  void give_back();

 private:
  KvBlock* block_ = nullptr;
};

// Of one engine, and one thread.
class KvBlockPool {
 public:
  // Bytes of a block.
  struct Sizes : ByKind<size_t> {
    kernels::Ops* backend = nullptr;  // whose memory blocks are; none: the host's
  };
  // capacity: of all blocks together.
  explicit KvBlockPool(Sizes sizes, size_t capacity_bytes = std::numeric_limits<size_t>::max());
  ~KvBlockPool();
  KvBlockPool(const KvBlockPool&) = delete;
  KvBlockPool& operator=(const KvBlockPool&) = delete;

  // Zeroed: attention multiplies what it masks by zero, so it must be a number. None: the capacity is reached, and
  // there is nothing left to be given up. Whoever takes has made sure before that this does not happen.
  [[nodiscard]] KvBlockRef take(StateKind kind);

  // Asked when the capacity is reached: gives up some block that is only kept for later. False: there is none.
  void set_reclaim(std::function<bool()> reclaim) { reclaim_ = std::move(reclaim); }

  void copy(const KvBlockRef& to, const KvBlockRef& from, StateKind kind) const;

  [[nodiscard]] const Sizes& sizes() const { return sizes_; }
  [[nodiscard]] size_t capacity_bytes() const { return capacity_bytes_; }
  // Of blocks that somebody owns.
  [[nodiscard]] size_t used_bytes() const { return used_bytes_; }

 private:
  friend class KvBlockRef;
  KvBlock* fresh(StateKind kind);
  void free(KvBlock* block);
  void release_idle(StateKind kind);
  // Some block of another kind that nobody owns. False: there is none.
  bool release_idle_other(StateKind kind);

  Sizes sizes_;
  size_t capacity_bytes_;
  size_t used_bytes_ = 0, idle_bytes_ = 0;
  ByKind<std::vector<KvBlock*>> idle_;
  std::function<bool()> reclaim_;
};

}  // namespace paceline
