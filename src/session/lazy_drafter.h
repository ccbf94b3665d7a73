// A drafter whose files were read and checked at start, and whose weights are arranged for the machine when the first
// drafts are asked for: one that never pays takes no memory. It may be held back, and gives it up again. Only for
// drafters that keep nothing of a sequence.
#pragma once

#include <atomic>
#include <memory>

#include "session/found_drafter.h"
#include "speculate/drafter.h"

namespace paceline {

class LazyDrafter : public Drafter {
 public:
  explicit LazyDrafter(FoundDrafter found) : found_(std::move(found)) {}
  // Of the others something is written down with every row, from the first on.
  static bool suits(DraftedBy kind) { return kind == DraftedBy::mtp; }

  [[nodiscard]] DraftedBy kind(int32_t) const override { return found_.kind(); }
  // May be asked by any thread.
  [[nodiscard]] bool loaded() const { return loaded_; }
  // Whether it may take its memory. Held back it gives it up, and guesses nothing. While nobody asks it for drafts.
  void let(bool may) {
    may_ = may;
    if (may) return;
    drafter_.reset();
    loaded_ = false;
  }
  void propose(std::span<DraftAsk> asks) override {
    if (may_) return drafter().propose(asks);
    for (DraftAsk& ask : asks) ask.drafted = 0;
  }
  const TokenId* enqueue(std::span<DraftAsk> asks) override { return may_ ? drafter().enqueue(asks) : nullptr; }

 private:
  Drafter& drafter() {
    if (drafter_ == nullptr) drafter_ = found_.drafter();
    loaded_ = true;
    return *drafter_;
  }

  FoundDrafter found_;
  std::unique_ptr<Drafter> drafter_;
  bool may_ = true;
  std::atomic<bool> loaded_ = false;
};

}  // namespace paceline
