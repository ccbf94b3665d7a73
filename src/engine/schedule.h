// Who runs and who waits. Requests are admitted oldest first, once the bytes that they may need are free; running out
// of memory is a matter of waiting. Every step serves the sequences that write, and behind them the oldest prompts.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "engine/engine_settings.h"
#include "engine/sequence.h"
#include "engine/step_plan.h"
#include "state/memory.h"

namespace paceline {

class Schedule {
 public:
  Schedule(const KvLayout& layout, const ModelConfig& config, const EngineSettings& settings);

  // What a request may need at most; all choices together.
  [[nodiscard]] static std::shared_ptr<Accepted> accept(Request request, const KvLayout& layout,
                                                        const ModelConfig& config, const Drafter* drafter = nullptr);

  void enqueue(std::shared_ptr<const Accepted> accepted) { waiting_.push_back(std::move(accepted)); }
  // From waiting to running, as many as fit. `start` sees each new sequence.
  void admit(const std::function<void(Sequence&)>& start);
  // The rows of the next step; none where nothing runs.
  void plan(StepPlan& plan);
  // The other choices of a sequence whose prompt has just been run; they run from now on. None in the place of one that
  // there was no memory for: it has ended.
  void fork_choices(Sequence& seq, std::vector<Sequence*>& forks, const std::function<void(Sequence&)>& start);
  // Pages of the sequence that will not change any more are kept for others.
  void leave_pages(Sequence& seq);

  [[nodiscard]] const std::vector<std::unique_ptr<Sequence>>& running() const { return running_; }
  [[nodiscard]] std::deque<std::shared_ptr<const Accepted>>& waiting() { return waiting_; }
  [[nodiscard]] int32_t waiting_count() const { return static_cast<int32_t>(waiting_.size()); }
  // The sequence and all that it held goes.
  void remove(const Sequence& seq);

  [[nodiscard]] const Memory& memory() const { return memory_; }
  [[nodiscard]] int64_t prefix_queries() const { return prefix_queries_; }
  [[nodiscard]] int64_t prefix_hits() const { return prefix_hits_; }
  // "": nothing runs or waits, and every byte but those of kept prefixes was given back.
  [[nodiscard]] const char* integrity_problem() const;

 private:
  void start_sequence(const std::shared_ptr<const Accepted>& accepted, const std::function<void(Sequence&)>& start);
  void plan_writers(StepPlan& plan);
  void plan_prompts(StepPlan& plan);
  void look_again(Sequence& seq);
  [[nodiscard]] static bool waits_for_another(const Sequence& seq, const StepPlan& plan);

  const KvLayout& layout_;
  const ModelConfig& config_;
  EngineSettings settings_;
  Memory memory_;
  std::deque<std::shared_ptr<const Accepted>> waiting_;
  std::vector<std::unique_ptr<Sequence>> running_;  // oldest first
  int32_t promised_ = 0;                            // sequences that will be forked from those that run
  int64_t prefix_queries_ = 0, prefix_hits_ = 0;
  uint64_t steps_ = 0;
};

}  // namespace paceline
