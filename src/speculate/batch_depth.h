// Depths for all sequences of a step at once: rows are given out by how likely each draft is to hold, as long as the
// step's tokens per millisecond rise. One sequence alone is AdaptiveDepth's case.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "speculate/routed_depth.h"
#include "speculate/step_costs.h"

namespace paceline {

struct DepthAsk {
  RoutedDepth* policy = nullptr;  // the sequence's
  int32_t context = 0;            // tokens in its cache
  int32_t most = 0;               // drafts that it may have
  DepthChoice choice = {};        // written
};

// What drafting of one of the drafters took in a step.
struct DraftPasses {
  std::vector<int32_t> sequences;  // in each pass
  double ms = 0;
};

// What a step of several sequences took.
struct BatchReport {
  int32_t longest_context = 0;
  int32_t rows = 0;
  int32_t sequences = 0;
  std::span<const DraftPasses> drafting;  // of each drafter
  double step_ms = 0;
};

class BatchDepth {
 public:
  // costs: of each drafter; at_once: which of them guess all drafts in one pass. most_rows: of a step, drafts included.
  BatchDepth(std::span<StepCosts> costs, std::vector<bool> at_once, int32_t most_rows);

  void choose(std::span<DepthAsk> asks) { choose(asks, {}); }
  // Beside rows of others that the step runs anyway: what a row more takes then, and how many may come.
  struct Beside {
    double row_ms = 0;  // 0: there are no others
    int32_t most_drafts = 0;
  };
  void choose(std::span<DepthAsk> asks, const Beside& beside);
  void observe(const BatchReport& report);

 private:
  // What a step of so many rows of those who ask takes; beside others, what it takes longer.
  [[nodiscard]] double step_ms(int32_t rows) const;
  [[nodiscard]] const BatchCosts& here(size_t which) const { return costs_[which].batch_at(longest_); }
  void pick_drafters(std::span<DepthAsk> asks);
  static int32_t most_of(const DepthAsk& ask, int32_t which);
  [[nodiscard]] double rate_for_all(const DepthAsk& ask, int32_t which, int32_t sequences) const;
  double pass_ms(const DepthAsk& ask);
  void share_out(std::span<DepthAsk> asks);
  bool try_all(std::span<DepthAsk> asks);
  void park_rest(std::span<DepthAsk> asks);

  std::span<StepCosts> costs_;
  std::vector<bool> at_once_;
  int32_t most_rows_;
  int64_t steps_ = 0;
  int32_t tried_rows_ = 0;  // of the last step in which all were tried, and which one that was
  int64_t tried_at_ = 0;
  int32_t longest_ = 0;                       // context of this step
  int32_t reachable_ = 0;                     // rows that it may have
  double row_ms_ = 0;                         // above 0: beside others' rows
  int32_t plain_rows_ = 0;                    // of this step
  std::vector<std::vector<int32_t>> passes_;  // of each drafter: sequences in each
  std::vector<double> rates_;                 // that each drafter promises, of one sequence
  struct Offer {
    double survival;
    size_t ask;
    bool operator<(const Offer& other) const { return survival < other.survival; }
  };
  std::vector<Offer> offers_;
  std::vector<size_t> taken_;
};

}  // namespace paceline
