// One way of running requests, plain or with drafts, as users run them: through an engine. Several ways stand over one
// forward and one drafter, each with an engine of its own, and are used in turn by one thread.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"
#include "speculate/step_costs.h"

namespace paceline {

struct WaySettings {
  Drafter* drafter = nullptr;         // none: plain
  std::optional<int32_t> depth = {};  // none: chosen by the policy
  std::vector<StepCosts> costs = {};  // of each drafter, before the first round; each way learns on by itself
  double memory_share = 0.125;        // of what a device has free, for keys and values; others may stand beside it
};

struct WrittenText {
  std::vector<TokenId> tokens;
  SpeculationCounters counters;
  double decode_ms = 0;  // of all tokens but the first
};

class Way {
 public:
  Way(Forward& forward, ThreadPool& pool, const WaySettings& settings);

  // So many texts, so many of them at once; where there are fewer requests, from their beginning again. An error where
  // one could not be run to its end.
  Result<std::vector<WrittenText>> write(std::span<const Request> requests, size_t count, size_t at_once);
  // Each once, one after the other.
  Result<std::vector<WrittenText>> write(std::span<const Request> requests) {
    return write(requests, requests.size(), 1);
  }

 private:
  std::vector<StepCosts> costs_;
  Engine engine_;
};

}  // namespace paceline
