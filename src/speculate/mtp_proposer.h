// The MTP drafter as a proposer: starts from the target's hidden state and reads the target's keys and values.
#pragma once

#include <memory>

#include "model/mtp_drafter.h"
#include "speculate/proposer.h"

namespace paceline {

class MtpProposer : public Proposer {
 public:
  explicit MtpProposer(std::unique_ptr<MtpDrafter> drafter);

  // All it knows lies in the target's cache.
  void reset() override {}
  int32_t propose(const DraftContext& context, std::span<TokenId> out) override;

 private:
  std::unique_ptr<MtpDrafter> drafter_;
};

}  // namespace paceline
