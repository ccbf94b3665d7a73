// Who runs, who waits, and who gives way. Requests are admitted oldest first, once there is memory for what stands of
// them: nothing is held for what may come. Memory is taken page by page, before the step that writes it. When there is
// none left, the newest that runs gives all its pages up and goes back to the front of the line, to be computed again
// later; the oldest always goes on. Texts are a function of the request, so nobody can tell. Every step serves the
// sequences that write, and behind them the oldest that read.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "engine/engine_settings.h"
#include "engine/sequence.h"
#include "engine/step_pace.h"
#include "engine/step_plan.h"
#include "state/memory.h"

namespace paceline {

class Schedule {
 public:
  using Sequences = std::vector<std::unique_ptr<Sequence>>;
  using Start = std::function<void(Sequence&)>;

  Schedule(const KvLayout& layout, const ModelConfig& config, const EngineSettings& settings,
           const Drafter* drafter = nullptr);

  // What a request takes at most; all choices together. Where that is more than `kv_bytes` with what the drafter keeps
  // of it, it goes without the drafter: nothing is refused that plain decoding would answer.
  [[nodiscard]] static std::shared_ptr<Accepted> accept(Request request, const KvLayout& layout,
                                                        const ModelConfig& config, size_t kv_bytes,
                                                        const Drafter* drafter = nullptr);

  // What one sequence takes, drafts and all; drafter: may be none.
  [[nodiscard]] static size_t sequence_bytes(const KvLayout& layout, const Drafter* drafter, int32_t positions,
                                             int32_t most_rows);

  void enqueue(std::shared_ptr<const Accepted> accepted) { waiting_.push_back(std::move(accepted)); }
  // To those that run, as many as fit: first whoever gave way. `start` sees each that begins, or begins again.
  void admit(const Start& start);
  // The rows of the next step; none where nothing runs.
  void plan(StepPlan& plan);
  // Takes all memory that the plan's rows write, and as much for drafts as there is. Whoever gives way for that leaves
  // the plan. `lost`: those that get none though they run alone, which is a mistake of ours.
  void hold(StepPlan& plan, std::vector<Sequence*>& lost);
  // What the step took, with the drafts behind its rows.
  void observe(const StepPlan& plan, int32_t rows, double ms);
  // The other choices of a sequence whose prompt has just been run; they run from now on, but for those that there is
  // no memory for.
  void fork_choices(Sequence& seq, std::vector<Sequence*>& forks, const Start& start);
  // Pages of the sequence that will not change any more are kept for others.
  void leave_pages(Sequence& seq);
  // The sequence has ended: so is the last page, as far as it goes.
  void leave_end(Sequence& seq);
  // For tests: so many behind the newest that runs.
  void make_give_way(int32_t behind_newest);

  [[nodiscard]] const Sequences& running() const { return running_; }    // oldest first
  [[nodiscard]] const Sequences& gave_way() const { return gave_way_; }  // likewise; all are older than who waits
  [[nodiscard]] std::deque<std::shared_ptr<const Accepted>>& waiting() { return waiting_; }
  [[nodiscard]] int32_t waiting_count() const { return static_cast<int32_t>(waiting_.size() + gave_way_.size()); }
  // The sequence and all that it held goes.
  void remove(const Sequence& seq);

  [[nodiscard]] const Memory& memory() const { return memory_; }
  [[nodiscard]] int64_t times_given_way() const { return times_given_way_; }
  [[nodiscard]] int64_t prefix_queries() const { return prefix_queries_; }
  [[nodiscard]] int64_t prefix_hits() const { return prefix_hits_; }
  // "": nothing runs or waits, and every byte but those of kept prefixes was given back.
  [[nodiscard]] const char* integrity_problem() const;

 private:
  [[nodiscard]] int64_t units_for(const Accepted& accepted, size_t standing) const;
  [[nodiscard]] int64_t spare_units() const;
  [[nodiscard]] int64_t places_taken() const;
  [[nodiscard]] bool shares_pages(const Accepted& accepted) const;
  [[nodiscard]] bool may_begin(const Accepted& accepted, size_t standing) const;
  bool begin(Sequence& seq);
  void begin_from_others(Sequence& seq);
  // What the drafter keeps of so many positions, beside pages.
  [[nodiscard]] int64_t drafter_units(const Accepted& accepted, int32_t positions) const;
  bool hold_rows(Sequence& seq, int32_t rows, int32_t drafts);
  void hold_drafts(Sequence& seq);
  [[nodiscard]] int32_t rows_to_state(const Sequence& seq, int32_t rows) const;
  [[nodiscard]] int32_t drafts_before_state(const Sequence& seq) const;
  void give_way(Sequence& seq);
  void count_found(Sequence& seq);
  void plan_writers(StepPlan& plan);
  void plan_readers(StepPlan& plan);
  void plan_short_readers(StepPlan& plan, int32_t most);
  // False: nobody else reads in this step.
  bool plan_reader(Sequence& seq, StepPlan& plan, int32_t most);
  [[nodiscard]] int32_t prompt_rows_beside(int32_t writers) const;
  [[nodiscard]] int32_t prompt_rows_alone() const;
  void look_again(Sequence& seq);
  [[nodiscard]] static bool waits_for_another(const Sequence& seq, const StepPlan& plan);

  const KvLayout& layout_;
  const ModelConfig& config_;
  EngineSettings settings_;
  const Drafter* drafter_;
  Memory memory_;
  StepPace pace_;
  std::vector<Sequence*> readers_;  // this step's
  std::deque<std::shared_ptr<const Accepted>> waiting_;
  Sequences running_, gave_way_;
  uint64_t last_order_ = 0;
  int64_t times_given_way_ = 0, prefix_queries_ = 0, prefix_hits_ = 0;
  uint64_t steps_ = 0;
};

}  // namespace paceline
