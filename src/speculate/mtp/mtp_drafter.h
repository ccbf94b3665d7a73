// The MTP drafter: starts from the target's hidden state and reads the target's keys and values. All it knows lies in
// the target's cache, so it keeps nothing between rounds and serves any number of sequences: a pass drafts one token
// for each of them.
#pragma once

#include <memory>
#include <vector>

#include "model/gemma4/mtp_forward.h"
#include "speculate/drafter.h"

namespace paceline {

class MtpDrafter : public Drafter {
 public:
  explicit MtpDrafter(std::unique_ptr<MtpForward> forward) : forward_(std::move(forward)) {}

  [[nodiscard]] DraftedBy kind(int32_t) const override { return DraftedBy::mtp; }
  void propose(std::span<DraftAsk> asks) override;
  const TokenId* enqueue(std::span<DraftAsk> asks) override;

 private:
  void gather(std::span<DraftAsk> asks);

  std::unique_ptr<MtpForward> forward_;
  std::vector<MtpProposal> proposals_;
};

}  // namespace paceline
