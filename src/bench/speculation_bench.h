// Measuring speculation: the same texts at several depths, in turn, with plain decoding beside them, one request at a
// time through an engine for each depth; figures are medians over rounds, ratios are medians of the ratios within a
// round. Every run's tokens are compared with the plain run's.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "bench/drafters.h"
#include "bench/texts.h"
#include "model/forward.h"
#include "speculate/step_costs.h"

namespace paceline {

// A depth, or none: chosen by the policy.
using BenchDepth = std::optional<int32_t>;
std::string depth_name(BenchDepth depth);

// Of one text at one depth.
struct SpeculationCell {
  std::string text;
  BenchDepth depth;
  int64_t tokens = 0;
  double tokens_per_s = 0;  // after each text's first token
  double ratio = 0;         // to plain decoding
  double tokens_per_verify = 0;
  double accepted_of_drafted = 0;
  // Share of rounds' drafts at a position that were kept; -1 where nobody drafted that deep.
  std::array<double, kMaxDraftTokens> accepted_at{};
  double draft_share = 0;  // of the time
};

struct SpeculationBenchSettings {
  std::vector<BenchDepth> depths;  // besides plain, which is always measured
  int32_t rounds = 5;
  BenchDrafter* drafter = nullptr;
  std::vector<StepCosts> costs;  // of each drafter: what is known before the first round; the policy learns on
  std::function<void(int64_t done, int64_t total)> progress;
};

// By text, then by depth; plain first. Last, over all texts together: "all". An error where a token differed, or a
// request could not be run.
Result<std::vector<SpeculationCell>> bench_speculation(Forward& forward, ThreadPool& pool,
                                                       const std::vector<BenchText>& texts,
                                                       const SpeculationBenchSettings& settings);

}  // namespace paceline
