// The end of a step where the backend chooses: choices, and which of them stand, are enqueued behind the forward, and
// one small copy tells the host.
#pragma once

#include <span>
#include <vector>

#include "engine/step_plan.h"
#include "engine/verify.h"
#include "kernels/row_buffer.h"
#include "model/forward.h"

namespace paceline {

class DeviceRound {
 public:
  explicit DeviceRound(Forward& forward) : forward_(forward), ops_(forward.ops()) {}

  // Whether the backend chooses; if not, none of the rest is for use.
  [[nodiscard]] bool chooses() const { return !ops_.on_host(); }
  // A new sequence.
  void start(Sequence& seq);
  // Waits for everything, and fills the sequences' verdicts; and their drafts, where only the backend knew them
  // (`drafts_unknown`). After a fault, which is what comes back then, the verdicts mean nothing.
  Status run(const ForwardRows& rows, bool drafts_unknown, std::span<const Choosing> choosing, ChooseScratch& scratch);
  // What drafting took on the device, where the host did not wait for it.
  [[nodiscard]] double draft_ms() const { return draft_ms_; }

 private:
  void add_rows(const Choosing& one);
  void allow(Sequence& seq, size_t first_choice);

  Forward& forward_;
  kernels::Ops& ops_;
  double draft_ms_ = 0;
  // This step's.
  std::vector<kernels::ChoiceRow> choices_;
  std::vector<kernels::ChoiceChain> chains_;
  std::vector<TokenId> ahead_;
  kernels::RowBuffer chosen_;
  kernels::HostCopy chosen_copy_, logits_copy_;
};

}  // namespace paceline
