// A Qwen model's own drafter: sees the last layer's output of every row that stands, and keeps keys and values of its
// own of them, in the sequence's pages.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "model/qwen/mtp_forward.h"
#include "speculate/drafter.h"

namespace paceline {

class QwenMtpDrafter : public Drafter {
 public:
  explicit QwenMtpDrafter(std::unique_ptr<qwen::MtpForward> forward);

  [[nodiscard]] DraftedBy kind(int32_t) const override { return DraftedBy::mtp; }
  [[nodiscard]] std::span<const int32_t> tap_layers() const override { return taps_; }
  std::unique_ptr<DrafterState> start() override;
  void propose(std::span<DraftAsk> asks) override;
  // None where somebody would get none.
  const TokenId* enqueue(std::span<DraftAsk> asks) override;
  void committed(std::span<const CommittedRows> rows, const Taps& taps) override;

 private:
  // Who is asked for what; whether all are.
  bool gather(std::span<DraftAsk> asks);

  std::unique_ptr<qwen::MtpForward> forward_;
  std::array<int32_t, 1> taps_;
  std::vector<qwen::MtpRows> rows_;
  std::vector<TokenId> next_;  // the tokens that followed them
  std::vector<qwen::MtpAsk> asks_;
};

}  // namespace paceline
