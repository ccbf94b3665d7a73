// Several drafters that are one to whoever holds them: each sees what comes to stand, but where it rests, and one of
// them is asked for each sequence's drafts.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "speculate/drafter.h"

namespace paceline {

class DrafterSet : public Drafter {
 public:
  // Not empty, and none of them a set. hidden: the width of what layers see.
  DrafterSet(std::vector<std::unique_ptr<Drafter>> drafters, int32_t hidden);

  [[nodiscard]] int32_t count() const override { return static_cast<int32_t>(drafters_.size()); }
  [[nodiscard]] DraftedBy kind(int32_t which) const override { return at(which).kind(0); }
  [[nodiscard]] bool guesses_at_once(int32_t which) const override { return at(which).guesses_at_once(0); }
  [[nodiscard]] int32_t most_drafts(int32_t which) const override { return at(which).most_drafts(0); }
  [[nodiscard]] bool reads_along(int32_t which) const override { return at(which).reads_along(0); }
  [[nodiscard]] std::span<const int32_t> tap_layers() const override { return tap_layers_; }
  [[nodiscard]] int32_t block_rows() const override { return block_rows_; }
  // At most one of them keeps anything outside of the sequence's pages.
  [[nodiscard]] size_t state_bytes(int32_t positions) const override;
  std::unique_ptr<DrafterState> start() override;

  // All asks of a call are for the same one.
  void propose(std::span<DraftAsk> asks) override;
  const TokenId* enqueue(std::span<DraftAsk> asks) override;
  void committed(std::span<const CommittedRows> rows, const Taps& taps) override;

 private:
  [[nodiscard]] Drafter& at(int32_t which) const { return *drafters_[static_cast<size_t>(which)]; }
  // The same asks, with the states of the one who is asked.
  std::span<DraftAsk> own_asks(std::span<const DraftAsk> asks);

  std::vector<std::unique_ptr<Drafter>> drafters_;
  std::vector<int32_t> tap_layers_;  // of all, one behind the other
  int32_t block_rows_ = 0;
  int32_t hidden_;
  std::vector<DraftAsk> asks_;
  std::vector<CommittedRows> rows_;
};

}  // namespace paceline
