// The DFlash drafter: sees the target through the input of a few of its layers, remembers the tokens that stand in
// layers of its own, and guesses a whole block in one pass, for any number of sequences at once.
#pragma once

#include <memory>
#include <vector>

#include "speculate/dflash/dflash_forward.h"
#include "speculate/drafter.h"

namespace paceline {

class DflashDrafter : public Drafter {
 public:
  explicit DflashDrafter(std::unique_ptr<DflashForward> forward) : forward_(std::move(forward)) {}

  [[nodiscard]] DraftedBy kind(int32_t) const override { return DraftedBy::dflash; }
  [[nodiscard]] std::span<const int32_t> tap_layers() const override { return forward_->tap_layers(); }
  [[nodiscard]] int32_t block_rows() const override { return forward_->config().block_size; }
  // The rows that may wait, whatever its length. What is remembered lies in layers of the sequence's pages.
  [[nodiscard]] size_t state_bytes(int32_t positions) const override;

  std::unique_ptr<DrafterState> start() override;
  // Full blocks, as it was trained for, but where a sequence has no room for one; the head is asked for the wanted rows
  // only.
  void propose(std::span<DraftAsk> asks) override;
  // None where the host chooses, or where somebody would get fewer than it wants.
  const TokenId* enqueue(std::span<DraftAsk> asks) override;
  // While nobody asks for drafts, rows wait, to be remembered some at once: its weights are read once for all of them,
  // and one that is not asked costs next to nothing. A sequence without units has none that wait.
  void committed(std::span<const CommittedRows> rows, const Taps& taps) override;

 private:
  struct Waiting;
  [[nodiscard]] size_t row_bytes() const { return static_cast<size_t>(forward_->joined_width()) * sizeof(float); }
  void wait(const CommittedRows& one, const Taps& taps);
  void take_waiting(DrafterState* state);
  // What there is room for.
  [[nodiscard]] int32_t rows_for(const DraftAsk& ask) const;
  // Who is asked for what, once all that waits is remembered.
  void gather(std::span<DraftAsk> asks);

  std::unique_ptr<DflashForward> forward_;
  std::vector<DflashProposal> proposals_;
  std::vector<DflashContextRows> new_rows_;
};

}  // namespace paceline
