#include "speculate/dflash/dflash_drafter.h"

#include <algorithm>

#include "base/check.h"

namespace paceline {

void DflashDrafter::propose(std::span<DraftAsk> asks) {
  proposals_.clear();
  for (DraftAsk& ask : asks) {
    const DraftContext& at = ask.context;
    CHECK(at.kv->length() == static_cast<int32_t>(at.tokens.size()) - 1);
    const int32_t rows = std::min(block_rows(), at.kv->room());
    ask.drafted = std::clamp(static_cast<int32_t>(ask.out.size()), 0, std::max(0, rows - 1));
    if (ask.drafted == 0) continue;
    proposals_.push_back({at.kv, at.tokens.back(), rows, ask.drafted, ask.out.data(), at.sampling, at.output_index});
  }
  forward_->propose(proposals_);
}

void DflashDrafter::committed(std::span<const CommittedRows> rows, const Taps& taps) {
  new_rows_.clear();
  for (const CommittedRows& one : rows)
    if (one.count > 0) new_rows_.push_back({one.kv, one.length - one.count, one.first_row, one.count});
  forward_->remember(new_rows_, taps);
}

}  // namespace paceline
