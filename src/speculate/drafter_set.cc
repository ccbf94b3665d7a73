#include "speculate/drafter_set.h"

#include <algorithm>

#include "base/check.h"

namespace paceline {
namespace {

struct SetState : DrafterState {
  std::vector<std::unique_ptr<DrafterState>> each;

  // Only one of them looks there.
  void lie_in(std::span<std::byte* const> units, size_t unit_bytes) override {
    DrafterState::lie_in(units, unit_bytes);
    for (const auto& one : each)
      if (one != nullptr) one->lie_in(units, unit_bytes);
  }
  [[nodiscard]] int32_t waiting() const override {
    int32_t most = 0;
    for (const auto& one : each) most = std::max(most, one == nullptr ? 0 : one->waiting());
    return most;
  }
};

DrafterState* state_of(DrafterState* all, size_t which) {
  return all == nullptr ? nullptr : static_cast<SetState*>(all)->each[which].get();
}

}  // namespace

DrafterSet::DrafterSet(std::vector<std::unique_ptr<Drafter>> drafters, int32_t hidden)
    : drafters_(std::move(drafters)), hidden_(hidden) {
  CHECK(!drafters_.empty());
  int keepers = 0;
  for (const auto& drafter : drafters_) {
    CHECK(drafter->count() == 1);
    keepers += drafter->state_bytes(1) > 0 ? 1 : 0;
    tap_layers_.insert(tap_layers_.end(), drafter->tap_layers().begin(), drafter->tap_layers().end());
    block_rows_ = std::max(block_rows_, drafter->block_rows());
  }
  CHECK(keepers <= 1);
}

size_t DrafterSet::state_bytes(int32_t positions) const {
  size_t bytes = 0;
  for (const auto& drafter : drafters_) bytes = std::max(bytes, drafter->state_bytes(positions));
  return bytes;
}

std::unique_ptr<DrafterState> DrafterSet::start() {
  auto state = std::make_unique<SetState>();
  for (const auto& drafter : drafters_) state->each.push_back(drafter->start());
  return state;
}

std::span<DraftAsk> DrafterSet::own_asks(std::span<const DraftAsk> asks) {
  asks_.assign(asks.begin(), asks.end());
  for (DraftAsk& ask : asks_) {
    CHECK(ask.by == asks.front().by);
    ask.state = state_of(ask.state, static_cast<size_t>(ask.by));
    ask.by = 0;
  }
  return asks_;
}

void DrafterSet::propose(std::span<DraftAsk> asks) {
  if (asks.empty()) return;
  const std::span<DraftAsk> own = own_asks(asks);
  at(asks.front().by).propose(own);
  for (size_t i = 0; i < asks.size(); ++i) asks[i].drafted = own[i].drafted;
}

const TokenId* DrafterSet::enqueue(std::span<DraftAsk> asks) {
  if (asks.empty()) return nullptr;
  const std::span<DraftAsk> own = own_asks(asks);
  const TokenId* drafts = at(asks.front().by).enqueue(own);
  for (size_t i = 0; drafts != nullptr && i < asks.size(); ++i) {
    asks[i].drafted = own[i].drafted;
    asks[i].first = own[i].first;
    asks[i].stride = own[i].stride;
  }
  return drafts;
}

void DrafterSet::committed(std::span<const CommittedRows> rows, const Taps& taps) {
  Taps own = taps;
  for (size_t which = 0; which < drafters_.size(); ++which) {
    rows_.clear();
    for (const CommittedRows& one : rows) {
      if ((one.resting >> which & 1) != 0) continue;
      rows_.push_back(one);
      rows_.back().state = state_of(one.state, which);
    }
    drafters_[which]->committed(rows_, own);
    if (own.values == nullptr) continue;
    own.values += static_cast<int64_t>(drafters_[which]->tap_layers().size()) * taps.rows * hidden_;
  }
}

}  // namespace paceline
