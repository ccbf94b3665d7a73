// Many requests at once through one model: a step loop that carries prompt chunks and verify rows of many sequences in
// the same forward. What a request gets has the same bits as if it had been alone.
//
//   schedule → propose → forward → choose → commit → publish
//
// submit(), cancel(), drain(), stats() may be called from any thread; step() and run() from one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/thread_pool.h"
#include "engine/event.h"
#include "engine/request.h"
#include "model/forward.h"
#include "speculate/batch_proposer.h"
#include "speculate/depth.h"
#include "speculate/step_costs.h"

namespace paceline {

using RequestId = uint64_t;

struct EngineSettings {
  size_t kv_bytes = size_t{1} << 30;  // for keys and values: of running requests, and what is kept of earlier ones
  int32_t batch_rows = 256;           // of one step, drafts included
  int32_t chunk_rows = 256;           // of prompts in one step
  int32_t most_running = 256;         // sequences
  int32_t queue_length = 2048;        // requests that wait
  bool keeps_prefixes = true;
  int32_t deepest = kMaxDraftTokens - 1;  // drafts of a round; by the policy up to here
  std::optional<int32_t> fixed_depth;     // no policy
  // Caps that operators know from other systems; 0: none.
  int32_t speculates_up_to_running = 0;
  int32_t speculates_up_to_context = 0;
};

enum class Refusal : uint8_t {
  none,
  queue_full,
  draining,
  never_fits,  // not even alone: `needs_bytes` of `kv_bytes`
  failed,      // the engine has stopped
};

struct Submission {
  Refusal refusal = Refusal::none;
  RequestId id = 0;
  size_t needs_bytes = 0;
};

// What one step did, for metrics.
struct StepReport {
  int32_t prompt_rows = 0;  // rows of prompts
  int32_t rows = 0;         // all rows, drafts included
  int32_t sequences = 0;    // that chose
  double step_ms = 0, draft_ms = 0;
  // Sequences by the depth that was chosen for them, and why.
  struct Decision {
    int32_t depth = 0;
    DepthReason reason = DepthReason::policy;
  };
  std::vector<Decision> decisions;
};

class StepObserver {
 public:
  virtual ~StepObserver() = default;
  virtual void observe(const StepReport& report) = 0;
};

struct EngineStats {
  int32_t running = 0;  // sequences
  int32_t waiting = 0;  // requests
  size_t kv_bytes = 0, reserved_bytes = 0, used_bytes = 0, cached_bytes = 0;
  int64_t prefix_queries = 0, prefix_hits = 0;  // tokens
  int64_t prompt_tokens = 0;                    // run, cached ones not among them
  int64_t steps = 0;
  SpeculationCounters speculation;
  bool failed = false;
};

// What an engine stands on; shared with nobody while it lives, except for the weights.
struct EngineParts {
  Forward* forward = nullptr;
  ThreadPool* pool = nullptr;
  BatchProposer* proposer = nullptr;  // none: no drafts
  StepCosts* costs = nullptr;         // learns from the rounds; none where there is no proposer
  StepObserver* observer = nullptr;   // may be none
};

class Engine {
 public:
  Engine(const EngineParts& parts, const EngineSettings& settings);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // The listener hears of it, unless it is refused.
  Submission submit(Request request, std::shared_ptr<Listener> listener);
  // At the next step. Whoever has ended already does not mind.
  void cancel(RequestId id);
  // From now on every submission is refused.
  void drain();
  [[nodiscard]] EngineStats stats() const;

  // One round of everything. False: there was nothing to do.
  bool step();
  // Steps, and sleeps where there is nothing to do, until stop() was called.
  void run();
  void stop();

  // Nothing runs or waits: every byte but those of kept prefixes must have been given back. "" where it holds, or what
  // does not.
  [[nodiscard]] const char* integrity_problem() const;

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace paceline
