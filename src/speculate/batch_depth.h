// Depths for all sequences of a step at once: rows are given out by how likely each draft is to hold, as long as the
// step's tokens per millisecond rise. One sequence alone is AdaptiveDepth's case.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "speculate/adaptive.h"
#include "speculate/step_costs.h"

namespace paceline {

struct DepthAsk {
  AdaptiveDepth* policy = nullptr;  // the sequence's
  int32_t context = 0;              // tokens in its cache
  int32_t most = 0;                 // drafts that it may have
  int32_t depth = 0;                // written
  DepthReason reason = DepthReason::policy;
};

// What a step of several sequences took.
struct BatchReport {
  int32_t longest_context = 0;
  int32_t rows = 0;
  int32_t sequences = 0;
  std::span<const int32_t> passes;  // sequences in each pass of drafting
  double draft_ms = 0, step_ms = 0;
};

class BatchDepth {
 public:
  // most_rows: of a step, drafts included.
  BatchDepth(StepCosts& costs, int32_t most_rows) : costs_(costs), most_rows_(most_rows) {}

  void choose(std::span<DepthAsk> asks);
  void observe(const BatchReport& report);

 private:
  void share_out(std::span<DepthAsk> asks, const BatchCosts& here);
  void park_rest(std::span<DepthAsk> asks);

  StepCosts& costs_;
  int32_t most_rows_;
  int64_t steps_ = 0;
  std::vector<int32_t> passes_;
  struct Offer {
    double survival;
    size_t ask;
    bool operator<(const Offer& other) const { return survival < other.survival; }
  };
  std::vector<Offer> offers_;
  std::vector<size_t> taken_;
};

}  // namespace paceline
