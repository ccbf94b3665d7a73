#include "speculate/mtp_proposer.h"

#include <utility>

#include "base/check.h"

namespace paceline {
namespace {

MtpContext at(const DraftContext& context) {
  CHECK(context.hidden != nullptr && context.kv->length() == static_cast<int32_t>(context.tokens.size()) - 1);
  return {context.kv, context.tokens.back(), context.hidden};
}

}  // namespace

MtpProposer::MtpProposer(std::unique_ptr<MtpDrafter> drafter) : drafter_(std::move(drafter)) {}

int32_t MtpProposer::propose(const DraftContext& context, std::span<TokenId> out) {
  const auto depth = static_cast<int32_t>(out.size());
  drafter_->propose(at(context), depth, out.data());
  return depth;
}

MtpBatchProposer::MtpBatchProposer(std::unique_ptr<MtpDrafter> drafter) : drafter_(std::move(drafter)) {}

void MtpBatchProposer::gather(std::span<DraftAsk> asks) {
  proposals_.clear();
  for (DraftAsk& ask : asks) {
    ask.drafted = static_cast<int32_t>(ask.out.size());
    proposals_.push_back({at(ask.context), ask.drafted, ask.out.data()});
  }
}

void MtpBatchProposer::propose(std::span<DraftAsk> asks) {
  gather(asks);
  drafter_->propose(proposals_);
}

const TokenId* MtpBatchProposer::enqueue(std::span<DraftAsk> asks) {
  gather(asks);
  const MtpDrafts drafts = drafter_->enqueue(proposals_);
  for (size_t i = 0; i < asks.size(); ++i) {
    asks[i].first = drafts.at(i, 0);
    asks[i].stride = drafts.stride;
  }
  return drafts.tokens;
}

}  // namespace paceline
