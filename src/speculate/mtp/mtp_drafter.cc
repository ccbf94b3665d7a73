#include "speculate/mtp/mtp_drafter.h"

#include "base/check.h"

namespace paceline {
namespace {

MtpContext at(const DraftContext& context) {
  CHECK(context.hidden != nullptr && context.kv->length() == static_cast<int32_t>(context.tokens.size()) - 1);
  return {context.kv, context.tokens.back(), context.hidden};
}

}  // namespace

void MtpDrafter::gather(std::span<DraftAsk> asks) {
  proposals_.clear();
  for (DraftAsk& ask : asks) {
    ask.drafted = static_cast<int32_t>(ask.out.size());
    proposals_.push_back(
        {at(ask.context), ask.drafted, ask.out.data(), ask.context.sampling, ask.context.output_index});
  }
}

void MtpDrafter::propose(std::span<DraftAsk> asks) {
  gather(asks);
  forward_->propose(proposals_);
}

const TokenId* MtpDrafter::enqueue(std::span<DraftAsk> asks) {
  gather(asks);
  const MtpDrafts drafts = forward_->enqueue(proposals_);
  for (size_t i = 0; i < asks.size(); ++i) {
    asks[i].first = drafts.at(i, 0);
    asks[i].stride = drafts.stride;
  }
  return drafts.tokens;
}

}  // namespace paceline
