// A DFlash drafter reads along from a sequence's first row on, so its first use is the first sequence that begins. Its
// layers have their place in the target's pages from the start. A sequence of which it missed rows while it was held
// back gets no drafts any more; of a prefix that such a one leaves it knows what it knows, and fewer of its guesses
// hold until that is gone.
#pragma once

#include <memory>
#include <vector>

#include "session/lazy_drafter.h"
#include "speculate/dflash/dflash_drafter.h"

namespace paceline {

class LazyDflash : public LazyDrafter {
 public:
  explicit LazyDflash(std::unique_ptr<DflashForward> forward);

  [[nodiscard]] DraftedBy kind(int32_t) const override { return DraftedBy::dflash; }
  [[nodiscard]] std::span<const int32_t> tap_layers() const override { return drafter_.tap_layers(); }
  [[nodiscard]] int32_t block_rows() const override { return drafter_.block_rows(); }
  // Also while it is held back: like its layers, they have their place from the start.
  [[nodiscard]] size_t state_bytes(int32_t positions) const override { return drafter_.state_bytes(positions); }

  std::unique_ptr<DrafterState> start() override;
  void propose(std::span<DraftAsk> asks) override;
  const TokenId* enqueue(std::span<DraftAsk> asks) override;
  void committed(std::span<const CommittedRows> rows, const Taps& taps) override;

 private:
  void load() override { forward_.load(); }
  void unload() override { forward_.unload(); }
  [[nodiscard]] bool reads_now() const { return may() && loaded(); }
  // Those whose rows it knows, as its drafter is asked.
  std::span<DraftAsk> known_asks(std::span<const DraftAsk> asks);

  DflashForward& forward_;
  DflashDrafter drafter_;
  std::vector<DraftAsk> asks_;
  std::vector<CommittedRows> rows_;
};

}  // namespace paceline
