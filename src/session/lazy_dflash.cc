#include "session/lazy_dflash.h"

namespace paceline {
namespace {

struct ReadAlong : DrafterState {
  std::unique_ptr<DrafterState> own;
  bool missed = false;  // rows of it

  [[nodiscard]] int32_t waiting() const override { return own->waiting(); }
  void lie_in(std::span<std::byte* const> units, size_t unit_bytes) override {
    DrafterState::lie_in(units, unit_bytes);
    own->lie_in(units, unit_bytes);
  }
};

ReadAlong& state_of(DrafterState* state) { return static_cast<ReadAlong&>(*state); }

}  // namespace

LazyDflash::LazyDflash(std::unique_ptr<DflashForward> forward) : forward_(*forward), drafter_(std::move(forward)) {}

std::unique_ptr<DrafterState> LazyDflash::start() {
  if (may()) be_loaded();
  auto state = std::make_unique<ReadAlong>();
  state->own = drafter_.start();
  return state;
}

std::span<DraftAsk> LazyDflash::known_asks(std::span<const DraftAsk> asks) {
  asks_.clear();
  for (const DraftAsk& ask : asks) {
    if (!reads_now() || state_of(ask.state).missed) continue;
    asks_.push_back(ask);
    asks_.back().state = state_of(ask.state).own.get();
  }
  return asks_;
}

void LazyDflash::propose(std::span<DraftAsk> asks) {
  const std::span<DraftAsk> known = known_asks(asks);
  if (!known.empty()) drafter_.propose(known);
  auto next = known.begin();
  for (DraftAsk& ask : asks) {
    const bool is_known = next != known.end() && next->state == state_of(ask.state).own.get();
    ask.drafted = is_known ? (next++)->drafted : 0;
  }
}

const TokenId* LazyDflash::enqueue(std::span<DraftAsk> asks) {
  const std::span<DraftAsk> known = known_asks(asks);
  const TokenId* drafts = known.size() == asks.size() ? drafter_.enqueue(known) : nullptr;
  for (size_t i = 0; drafts != nullptr && i < asks.size(); ++i) {
    asks[i].drafted = known[i].drafted;
    asks[i].first = known[i].first;
    asks[i].stride = known[i].stride;
  }
  return drafts;
}

void LazyDflash::committed(std::span<const CommittedRows> rows, const Taps& taps) {
  rows_.assign(rows.begin(), rows.end());
  for (CommittedRows& one : rows_) {
    ReadAlong& state = state_of(one.state);
    state.missed = state.missed || (!reads_now() && one.count > 0);
    // What is read of one of which rows are missing is for those who begin alike.
    one.state = state.missed ? nullptr : state.own.get();
  }
  if (reads_now()) drafter_.committed(rows_, taps);
}

}  // namespace paceline
