// What an engine stands on, and what it tells of its steps.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "model/forward.h"
#include "model/vision/vision_forward.h"
#include "speculate/counters.h"
#include "speculate/depth.h"
#include "speculate/drafter.h"
#include "speculate/step_costs.h"

namespace paceline {

// What was chosen for one sequence in one step, why, and what became of it.
struct DepthDecision {
  int32_t depth = 0;
  DepthReason reason = DepthReason::policy;
  std::optional<DraftedBy> by;  // none: nobody
  uint64_t request = 0;
  uint64_t label = 0;   // of the request, as its asker calls it
  int32_t choice = 0;   // of the request's
  int32_t context = 0;  // tokens in its cache
  int32_t drafted = 0, accepted = 0;
  // Kinds that do not read along with this text, and are not asked: it was not worth it lately.
  std::bitset<kDraftedByKinds> resting;
};

// What one step did, for metrics.
struct StepReport {
  int32_t prompt_rows = 0;  // rows of prompts
  int32_t rows = 0;         // all rows, drafts included
  int32_t sequences = 0;    // that chose
  double step_ms = 0, draft_ms = 0;
  int64_t step = 0;                      // its number
  int32_t running = 0, waiting = 0;      // sequences, requests
  double kv_used = 0;                    // the part of the memory for keys and values
  std::vector<DepthDecision> decisions;  // of the sequences that write
};

class StepTurns;

class StepObserver {
 public:
  virtual ~StepObserver() = default;
  virtual void observe(const StepReport& report) = 0;
  // Once: the engine has stopped for good, and why.
  virtual void observe_failure(const std::string& /*why*/) {}
};

struct EngineStats {
  int32_t running = 0;       // sequences
  int32_t waiting = 0;       // requests
  int32_t queue_length = 0;  // of them, at most
  // That an operator has set since the start.
  std::optional<int32_t> depth;
  size_t held_bytes = 0;  // of requests, beside keys and values
  // In all; that running sequences hold; that hold anything; of them, those that are only kept for later.
  size_t kv_bytes = 0, running_bytes = 0, used_bytes = 0, cached_bytes = 0;
  int64_t gave_way = 0;                         // how often a sequence gave its pages up, to be computed again
  int64_t prefix_queries = 0, prefix_hits = 0;  // tokens
  int64_t prompt_tokens = 0;                    // run, cached ones not among them
  int64_t steps = 0;
  // Of steps that follow each other: from end to end, and of that, when a device had nothing to do. (A host's own
  // computing has no such gaps.)
  double busy_ms = 0, idle_ms = 0;
  int64_t pictures_seen = 0, pictures_known = 0;  // that went through the tower; that did not have to
  SpeculationCounters speculation;
  bool failed = false;
  std::string failure;  // why
};

// Shared with nobody while the engine lives, except for the weights.
struct EngineParts {
  Forward* forward = nullptr;
  ThreadPool* pool = nullptr;
  Drafter* drafter = nullptr;  // none: no drafts
  // Of each that the drafter counts: learns from the rounds; needed where there is a drafter and no fixed depth.
  StepCosts* costs = nullptr;
  StepObserver* observer = nullptr;  // may be none
  VisionForward* vision = nullptr;   // none where the model takes no pictures
  StepTurns* turns = nullptr;        // with others on this machine; none: it is alone
};

}  // namespace paceline
