#include "speculate/mtp_proposer.h"

#include <utility>

#include "base/check.h"

namespace paceline {

MtpProposer::MtpProposer(std::unique_ptr<MtpDrafter> drafter) : drafter_(std::move(drafter)) {}

int32_t MtpProposer::propose(const DraftContext& context, std::span<TokenId> out) {
  CHECK(context.hidden != nullptr && context.kv->length() == static_cast<int32_t>(context.tokens.size()) - 1);
  const auto depth = static_cast<int32_t>(out.size());
  drafter_->propose({context.kv, context.tokens.back(), context.hidden}, depth, out.data());
  return depth;
}

}  // namespace paceline
