// The backend chooses: choices, and which of them stand, are enqueued behind the forward, and one small copy tells the
// host.
#pragma once

#include <vector>

#include "engine/choosing_round.h"
#include "kernels/choosing_ops.h"
#include "kernels/row_buffer.h"
#include "sample/choose.h"

namespace paceline {

class DeviceRound : public ChoosingRound {
 public:
  DeviceRound(Forward& forward, kernels::ChoosingOps& choosing)
      : forward_(forward), ops_(forward.ops()), choosing_ops_(choosing) {}

  void start(Sequence& seq) override;
  [[nodiscard]] bool takes_unknown_drafts() const override { return true; }
  void begin() override { choosing_ops_.mark(kernels::ChoosingOps::Mark::begin); }
  void drafted() override { choosing_ops_.mark(kernels::ChoosingOps::Mark::end); }
  Result<RoundTimes> run(const RoundInput& input) override;

 private:
  void add_rows(const Choosing& one);
  void allow(Sequence& seq, size_t first_choice);
  void enqueue(const RoundInput& input);
  Status hear(const RoundInput& input);

  Forward& forward_;
  kernels::Ops& ops_;
  kernels::ChoosingOps& choosing_ops_;
  ChooseScratch scratch_;
  // This step's.
  std::vector<kernels::ChoiceRow> choices_;
  std::vector<kernels::ChoiceChain> chains_;
  std::vector<TokenId> ahead_;
  kernels::RowBuffer chosen_;
  kernels::HostCopy chosen_copy_, logits_copy_;
  const TokenId* chosen_host_ = nullptr;  // [2, choices]
  const float* logits_host_ = nullptr;    // where somebody asked for them
};

}  // namespace paceline
