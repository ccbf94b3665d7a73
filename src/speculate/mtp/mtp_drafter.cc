#include "speculate/mtp/mtp_drafter.h"

#include <algorithm>

#include "base/check.h"

namespace paceline {
namespace {

MtpContext at(const DraftContext& context) {
  CHECK(context.hidden != nullptr && context.kv->length() == static_cast<int32_t>(context.tokens.size()) - 1);
  return {context.kv, context.tokens.back(), context.hidden};
}

}  // namespace

int32_t MtpDrafter::gather(std::span<DraftAsk> asks) {
  begin_ = std::chrono::steady_clock::now();
  proposals_.clear();
  context_ = 0;
  for (DraftAsk& ask : asks) {
    context_ = std::max(context_, ask.context.kv->length());
    if (ask.state != nullptr) static_cast<Asked*>(ask.state)->drafts = true;
    ask.drafted = static_cast<int32_t>(ask.out.size());
    proposals_.push_back(
        {at(ask.context), ask.drafted, ask.out.data(), ask.context.sampling, ask.context.output_index});
  }
  chosen_ = forward_->narrows() ? window_.choose(context_) : 0;
  return chosen_;
}

void MtpDrafter::propose(std::span<DraftAsk> asks) {
  const int32_t window = gather(asks);
  forward_->propose(proposals_, window);
}

const TokenId* MtpDrafter::enqueue(std::span<DraftAsk> asks) {
  const int32_t window = gather(asks);
  const MtpDrafts drafts = forward_->enqueue(proposals_, window);
  for (size_t i = 0; i < asks.size(); ++i) {
    asks[i].first = drafts.at(i, 0);
    asks[i].stride = drafts.stride;
  }
  return drafts.tokens;
}

// A round has lasted from its first draft until now.
void MtpDrafter::committed(std::span<const CommittedRows> rows, const Taps& /*taps*/) {
  int32_t tokens = 0;
  for (const CommittedRows& one : rows) {
    auto* asked = static_cast<Asked*>(one.state);
    if (asked == nullptr || !asked->drafts) continue;
    asked->drafts = false;
    tokens += one.count;
  }
  if (tokens == 0) return;
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin_;
  window_.observe(context_, chosen_, tokens, took.count());
}

}  // namespace paceline
