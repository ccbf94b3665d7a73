#include "speculate/qwen_mtp/qwen_mtp_drafter.h"

#include <algorithm>

namespace paceline {
namespace {

struct QwenMtpState : DrafterState {
  qwen::MtpMemory memory;
};

}  // namespace

QwenMtpDrafter::QwenMtpDrafter(std::unique_ptr<qwen::MtpForward> forward)
    : forward_(std::move(forward)), taps_{forward_->layer_count()} {}

std::unique_ptr<DrafterState> QwenMtpDrafter::start() { return std::make_unique<QwenMtpState>(); }

void QwenMtpDrafter::committed(std::span<const CommittedRows> rows, const Taps& taps) {
  rows_.clear();
  next_.clear();
  size_t all = 0;
  for (const CommittedRows& one : rows) all += static_cast<size_t>(one.count);
  next_.reserve(all);  // what points into it stays there
  for (const CommittedRows& one : rows) {
    const int32_t first_pos = one.length - one.count;
    const size_t begin = next_.size();
    // Of a text that has ended nothing follows its last row; it has a key all the same, for those who begin alike.
    for (auto pos = static_cast<size_t>(first_pos); pos < static_cast<size_t>(one.length); ++pos)
      next_.push_back(one.standing[std::min(pos + 1, one.standing.size() - 1)]);
    rows_.push_back({&static_cast<QwenMtpState&>(*one.state).memory, one.kv, first_pos, one.first_row, one.count,
                     std::span(next_).subspan(begin)});
  }
  forward_->read(rows_, taps.values);
}

bool QwenMtpDrafter::gather(std::span<DraftAsk> asks) {
  asks_.clear();
  for (DraftAsk& ask : asks) {
    auto& memory = static_cast<QwenMtpState&>(*ask.state).memory;
    // A text that has just been forked or has come back has had no row of its own yet.
    const auto run = static_cast<int32_t>(ask.context.tokens.size()) - 1;
    ask.drafted = memory.end == run && ask.context.kv->room() > 0 ? static_cast<int32_t>(ask.out.size()) : 0;
    if (ask.drafted > 0) asks_.push_back({&memory, ask.context.kv, ask.out});
  }
  return asks_.size() == asks.size();
}

void QwenMtpDrafter::propose(std::span<DraftAsk> asks) {
  (void)gather(asks);
  if (!asks_.empty()) forward_->propose(asks_);
}

const TokenId* QwenMtpDrafter::enqueue(std::span<DraftAsk> asks) {
  if (!gather(asks)) return nullptr;
  for (size_t i = 0; i < asks.size(); ++i) {
    asks[i].first = static_cast<int32_t>(i);
    asks[i].stride = static_cast<int32_t>(asks.size());
  }
  return forward_->enqueue(asks_);
}

}  // namespace paceline
