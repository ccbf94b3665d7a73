// A drafter whose files were read and checked at start, and whose weights are arranged for the machine when the first
// drafts are asked for: one that never pays takes no memory. Only for drafters that keep nothing of a sequence.
#pragma once

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
  [[nodiscard]] bool loaded() const { return drafter_ != nullptr; }
  void propose(std::span<DraftAsk> asks) override { drafter().propose(asks); }
  const TokenId* enqueue(std::span<DraftAsk> asks) override { return drafter().enqueue(asks); }

 private:
  Drafter& drafter() {
    if (drafter_ == nullptr) drafter_ = found_.drafter();
    return *drafter_;
  }

  FoundDrafter found_;
  std::unique_ptr<Drafter> drafter_;
};

}  // namespace paceline
