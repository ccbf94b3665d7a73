// One step of everything that runs.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/choosing_round.h"
#include "engine/drafting_round.h"
#include "engine/engine_parts.h"
#include "engine/engine_settings.h"
#include "engine/features.h"
#include "engine/schedule.h"
#include "engine/step_plan.h"

namespace paceline {

class Stepper {
 public:
  Stepper(const EngineParts& parts, const EngineSettings& settings);

  void enqueue(std::shared_ptr<const Accepted> accepted) { schedule_.enqueue(std::move(accepted)); }
  // At the next step.
  void cancel(RequestId id);
  void turn(const EngineDials& dials) { drafting_.turn(dials); }
  // False: there was nothing to do.
  bool step();
  // Called once the engine has failed, before those who wait hear of it.
  void set_on_failure(std::function<void()> on_failure) { on_failure_ = std::move(on_failure); }

  [[nodiscard]] int32_t waiting() const { return schedule_.waiting_count(); }
  // All but what is known outside: who has arrived and not been seen here yet.
  void write_stats(EngineStats& stats) const;
  [[nodiscard]] const char* integrity_problem() const { return schedule_.integrity_problem(); }

 private:
  void start(Sequence& seq);
  void end_overdue();
  void hold();
  void forward();
  void find_choosing();
  Status choose();
  void fork_choices(const Choosing& first);
  void commit();
  // What a step has to say to one listener, and to those who count.
  struct Told {
    Sequence* seq = nullptr;
    Verdict verdict{};
    int32_t prompt_done = 0, cached = 0;
    int32_t drafted = 0;
    std::vector<TokenId> rejected{};  // drafts
    RoundTrace trace{};               // but for these
    DraftedBy by{};
    bool chose = false;
    size_t kv_bytes = 0;
  };
  void publish();
  [[nodiscard]] Told told_of(Sequence& seq, bool chose) const;
  // Says it; where its listener wants no more: how many of the tokens do not stand.
  std::optional<size_t> tell(Told& told);
  void settle(Told& told);
  void tell_last_step();
  void tell_late(Sequence& seq, EndReason& reason);
  void end_unwanted();
  void count_round(Sequence& seq, const Told& told);
  void count_step();
  void end_all();
  void tell_end(const Sequence& seq, int32_t choice, const SequenceEnd& end) const;
  void fail(std::string why);
  void end_failed();
  void become_idle();
  // The part of the memory for keys and values that running sequences hold.
  [[nodiscard]] double kv_used() const;
  // Those that run, and those that gave way.
  template <class Visit>
  void each_sequence(const Visit& visit);
  template <class Which>
  void end_waiting(const Which& which, EndReason reason);
  [[nodiscard]] bool failed() const { return !failure_.empty(); }

  EngineParts parts_;
  std::function<void()> on_failure_;
  const ModelConfig& config_;
  Schedule schedule_;
  Features features_;
  std::unique_ptr<ChoosingRound> round_;
  DraftingRound drafting_;
  std::function<int32_t(int64_t)> gives_way_;

  // This step's.
  StepPlan plan_;
  std::vector<TokenId> tokens_;
  std::vector<SeqRows> seq_rows_;
  std::vector<int32_t> logit_rows_;
  std::vector<int32_t> drafted_at_;
  ForwardRows rows_;
  std::vector<Choosing> choosing_;
  std::vector<Sequence*> first_choosing_;  // of those, who had not chosen before
  std::vector<Sequence*> forks_, lost_;
  struct Ended {
    Sequence* seq;
    EndReason reason;
    std::string problem = {};
  };
  std::vector<Ended> ended_;
  // Where the backend computes by itself: what the step before has to say is said while this one runs. Whoever wants no
  // more by then has been run once too often, and what came of that is dropped.
  bool tells_late_ = false;
  std::vector<Told> late_;
  struct Unwanted {
    Sequence* seq;
    size_t standing;  // tokens, of those there were
  };
  std::vector<Unwanted> unwanted_;
  std::optional<StepReport> late_report_;
  bool follows_ = false;  // a step, with nothing in between
  double idle_ms_ = 0, busy_ms_ = 0;
  EngineClock::time_point last_end_;
  double forward_ms_ = 0, choose_ms_ = 0, commit_ms_ = 0;
  double writing_ms_ = 0;  // of the last step without rows of prompts

  bool idle_ = true;
  std::string failure_;  // none: it goes on
  int64_t steps_ = 0, prompt_tokens_ = 0;
  SpeculationCounters totals_;
};

}  // namespace paceline
