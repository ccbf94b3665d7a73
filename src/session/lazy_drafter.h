// Drafters whose files were read and checked at start, and whose weights are arranged for the machine at their first
// use: one that is never used takes no memory. Each may be held back, and gives it up again.
#pragma once

#include <atomic>
#include <memory>

#include "session/found_drafter.h"
#include "speculate/drafter.h"

namespace paceline {

class LazyDrafter : public Drafter {
 public:
  // For the target that it was found for. Before that target's first sequence.
  static std::unique_ptr<LazyDrafter> make(const FoundDrafter& found);

  // May be asked by any thread.
  [[nodiscard]] bool loaded() const { return loaded_; }
  // Whether it may take its memory. Held back it gives it up, and guesses nothing. While nobody asks it for drafts.
  void let(bool may) {
    may_ = may;
    if (may) return;
    unload();
    loaded_ = false;
  }

 protected:
  virtual void load() = 0;
  virtual void unload() = 0;
  [[nodiscard]] bool may() const { return may_; }
  // Only where it may.
  void be_loaded() {
    if (!loaded_) load();
    loaded_ = true;
  }

 private:
  bool may_ = true;
  std::atomic<bool> loaded_ = false;
};

}  // namespace paceline
