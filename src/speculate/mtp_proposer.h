// The MTP drafter as a proposer: starts from the target's hidden state and reads the target's keys and values. All it
// knows lies in the target's cache, so it keeps nothing between rounds and serves any number of sequences.
#pragma once

#include <memory>
#include <vector>

#include "model/gemma4/mtp_drafter.h"
#include "speculate/batch_proposer.h"
#include "speculate/proposer.h"

namespace paceline {

class MtpProposer : public Proposer {
 public:
  explicit MtpProposer(std::unique_ptr<MtpDrafter> drafter);

  void reset() override {}
  int32_t propose(const DraftContext& context, std::span<TokenId> out) override;

 private:
  std::unique_ptr<MtpDrafter> drafter_;
};

// The same for many sequences: a pass drafts one token for each of them.
class MtpBatchProposer : public BatchProposer {
 public:
  explicit MtpBatchProposer(std::unique_ptr<MtpDrafter> drafter);

  std::unique_ptr<Proposer> start() override { return nullptr; }
  void propose(std::span<DraftAsk> asks) override;
  const TokenId* enqueue(std::span<DraftAsk> asks) override;

 private:
  void gather(std::span<DraftAsk> asks);

  std::unique_ptr<MtpDrafter> drafter_;
  std::vector<MtpProposal> proposals_;
};

}  // namespace paceline
