// The propose part of a step: how deep for each sequence, drafts for all of them at once, and what was learnt of it.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/engine_parts.h"
#include "engine/engine_settings.h"
#include "engine/step_plan.h"
#include "speculate/batch_depth.h"

namespace paceline {

class DraftingRound {
 public:
  // may_leave_drafts: in the backend's memory, with nobody waiting for them.
  DraftingRound(const EngineParts& parts, const EngineSettings& settings, bool may_leave_drafts);

  void turn(const EngineDials& dials) {
    dials.turn(settings_);
    depth_ = dials.depth;
  }

  // A new sequence, or one that begins again; one that has ended.
  void start(Sequence& seq);
  void finish(Sequence& seq);

  // Fills the drafts of the plan's sequences. kv_used: the part of the memory that running sequences hold.
  void propose(const StepPlan& plan, double kv_used);
  // Layers that the drafter wants to see the input of; none where all rows are of texts that it does not read.
  [[nodiscard]] std::span<const int32_t> tap_layers() const {
    return parts_.drafter != nullptr && is_read_ ? parts_.drafter->tap_layers() : std::span<const int32_t>();
  }
  // What stands is told, with what those layers saw of it.
  void commit(const StepPlan& plan, std::span<const Choosing> choosing, const Taps& taps);
  // After the step: what became of them, and what forward and choosing took.
  void observe(const StepPlan& plan, double step_ms);

  // Drafts that lie in the backend's memory (Sequence::first_draft), unknown to the host; none: the host has them.
  [[nodiscard]] const TokenId* enqueued() const { return enqueued_; }
  // Of those: what they took is known when the step is over.
  void set_draft_ms(double ms);

  [[nodiscard]] double draft_ms() const { return draft_ms_; }
  [[nodiscard]] const std::vector<DepthDecision>& decisions() const { return decisions_; }

 private:
  [[nodiscard]] int32_t rows_for_drafts(const StepPlan& plan) const;
  void choose_depths(const StepPlan& plan, double kv_used);
  // The operator's cap that keeps a sequence from drafts; none.
  [[nodiscard]] std::optional<DepthReason> cap(const StepPlan& plan, const Sequence& seq, double kv_used) const;
  void fix_depths(int32_t rows_free);
  void fix_asked_depths(int32_t rows_free);
  void draft();
  void ask_drafter(std::span<Sequence*> seqs);
  void count_passes(const Sequence& seq);
  [[nodiscard]] bool leaves_drafts() const;
  void place_drafts(std::span<Sequence*> seqs);
  [[nodiscard]] size_t drafters() const { return static_cast<size_t>(parts_.drafter->count()); }

  EngineParts parts_;
  EngineSettings settings_;
  std::optional<int32_t> depth_;  // that an operator wants; none: as the settings have it
  bool may_leave_drafts_;
  std::unique_ptr<BatchDepth> policy_;  // none: depths are fixed, or nobody drafts
  double draft_ms_ = 0;
  const TokenId* enqueued_ = nullptr;
  bool is_read_ = false;  // this step, by a drafter that reads along
  // This step's, of the sequences that write.
  std::vector<Sequence*> writers_;
  std::vector<Sequence*> drafting_;  // of them, those that are drafted for, by who drafts
  std::vector<DepthAsk> depths_;
  std::vector<DraftAsk> asks_;
  std::vector<CommittedRows> committed_;
  std::vector<DraftPasses> passes_;  // of each drafter
  std::vector<DepthDecision> decisions_;
};

}  // namespace paceline
