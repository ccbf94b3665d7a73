// Drafts that are right with a given chance, at what another drafter costs: that one drafts, too, and what it drafted
// is put aside. What is right is known of texts that ran before, as the same requests without drafts do; nothing is
// right of a text that comes for the first time. For measurements.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kernels/row_buffer.h"
#include "speculate/drafter.h"
#include "speculate/scripted/known_texts.h"

namespace paceline {

// "scripted:0.8,0.68,0.57": the chance that the first, the first two, the first three drafts hold. None: it is another
// name.
bool is_scripted(std::string_view name);
Result<std::vector<double>> read_script(std::string_view name);

class ScriptedDrafter : public Drafter {
 public:
  struct Script {
    std::vector<double> holds;  // the chance that so many drafts in a row do; not ascending
    int32_t vocab = 0;
    uint64_t seed = 7;
  };
  ScriptedDrafter(std::unique_ptr<Drafter> pays, kernels::Ops& ops, Script script);

  [[nodiscard]] DraftedBy kind(int32_t which) const override { return pays_->kind(which); }
  [[nodiscard]] bool guesses_at_once(int32_t which) const override { return pays_->guesses_at_once(which); }
  [[nodiscard]] std::span<const int32_t> tap_layers() const override { return pays_->tap_layers(); }
  [[nodiscard]] int32_t block_rows() const override { return pays_->block_rows(); }
  [[nodiscard]] size_t state_bytes(int32_t positions) const override { return pays_->state_bytes(positions); }
  std::unique_ptr<DrafterState> start() override;

  void propose(std::span<DraftAsk> asks) override;
  const TokenId* enqueue(std::span<DraftAsk> asks) override;
  void committed(std::span<const CommittedRows> rows, const Taps& taps) override;

 private:
  struct State;
  std::span<DraftAsk> paid_asks(std::span<const DraftAsk> asks);
  void write(const DraftContext& context, std::span<TokenId> out) const;

  std::unique_ptr<Drafter> pays_;
  kernels::Ops& ops_;
  Script script_;
  KnownTexts known_;
  kernels::RowBuffer drafts_;  // those that are enqueued
  // This step's.
  std::vector<DraftAsk> asks_;
  std::vector<CommittedRows> rows_;
  std::vector<TokenId> written_;
};

}  // namespace paceline
