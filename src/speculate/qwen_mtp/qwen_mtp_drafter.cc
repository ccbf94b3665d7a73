#include "speculate/qwen_mtp/qwen_mtp_drafter.h"

namespace paceline {
namespace {

struct QwenMtpState : DrafterState {
  qwen::MtpMemory memory;
};

}  // namespace

QwenMtpDrafter::QwenMtpDrafter(std::unique_ptr<qwen::MtpForward> forward)
    : forward_(std::move(forward)), taps_{forward_->layer_count()} {}

size_t QwenMtpDrafter::state_bytes(int32_t positions) const { return forward_->bytes_for(positions); }

std::unique_ptr<DrafterState> QwenMtpDrafter::start() { return std::make_unique<QwenMtpState>(); }

void QwenMtpDrafter::committed(std::span<const CommittedRows> rows, const Taps& taps) {
  rows_.clear();
  for (const CommittedRows& one : rows) {
    auto& state = static_cast<QwenMtpState&>(*one.state);
    state.memory.pages.set_units(state.units, state.unit_bytes, forward_->shape());
    const int32_t first_pos = one.length - one.count;
    const auto next = one.standing.subspan(static_cast<size_t>(first_pos) + 1);
    // Of a text that has ended with its last row, nobody asks any more.
    const auto count = std::min(one.count, static_cast<int32_t>(next.size()));
    if (first_pos + count > state.memory.first_pos + state.memory.pages.room()) continue;
    rows_.push_back({&state.memory, first_pos, one.first_row, count, next.first(static_cast<size_t>(count))});
  }
  forward_->read(rows_, taps.values);
}

bool QwenMtpDrafter::gather(std::span<DraftAsk> asks) {
  asks_.clear();
  for (DraftAsk& ask : asks) {
    auto& memory = static_cast<QwenMtpState&>(*ask.state).memory;
    // A text that has just been forked or has come back has had no row of its own yet.
    const auto run = static_cast<int32_t>(ask.context.tokens.size()) - 1;
    ask.drafted =
        memory.length > 0 && memory.first_pos + memory.length == run ? static_cast<int32_t>(ask.out.size()) : 0;
    if (ask.drafted > 0) asks_.push_back({&memory, ask.out});
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
