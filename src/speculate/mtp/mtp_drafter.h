// The MTP drafter: starts from the target's hidden state and reads the target's keys and values. All it knows lies in
// the target's cache, so it keeps nothing of a text between rounds and serves any number of sequences: a pass drafts
// one token for each of them. How far back it looks is chosen by what was measured (draft_window.h).
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "model/gemma4/mtp_forward.h"
#include "speculate/drafter.h"
#include "speculate/mtp/draft_window.h"

namespace paceline {

class MtpDrafter : public Drafter {
 public:
  explicit MtpDrafter(std::unique_ptr<MtpForward> forward) : forward_(std::move(forward)) {}

  [[nodiscard]] DraftedBy kind(int32_t) const override { return DraftedBy::mtp; }
  std::unique_ptr<DrafterState> start() override { return std::make_unique<Asked>(); }
  void propose(std::span<DraftAsk> asks) override;
  const TokenId* enqueue(std::span<DraftAsk> asks) override;
  void committed(std::span<const CommittedRows> rows, const Taps& taps) override;

  [[nodiscard]] const DraftWindow& window() const { return window_; }

 private:
  // Whether the sequence has drafts in the round that runs.
  struct Asked : DrafterState {
    bool drafts = false;
  };

  // Returns the window.
  int32_t gather(std::span<DraftAsk> asks);

  std::unique_ptr<MtpForward> forward_;
  std::vector<MtpProposal> proposals_;
  DraftWindow window_;
  // The round that runs, where its window is one of several.
  int32_t context_ = 0, chosen_ = 0;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace paceline
