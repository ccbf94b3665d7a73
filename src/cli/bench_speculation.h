// Measuring speculation: the same texts at several depths, in turn, with plain decoding beside them; figures are
// medians over rounds, ratios are medians of the ratios within a round. Every run's tokens are compared with the plain
// run's.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "proof/decode.h"
#include "speculate/step_costs.h"

namespace paceline {

// A depth, or none: chosen by the policy.
using BenchDepth = std::optional<int32_t>;
std::string depth_name(BenchDepth depth);

// Texts of one kind: run one after another, counted as one.
struct BenchText {
  std::string name;
  std::vector<DecodeRequest> requests;
};

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
  // Who drafts for a request whose plain run gave these tokens.
  std::function<Proposer&(const DecodeRequest&, const std::vector<TokenId>&)> proposer;
  // What is known before the first round; learns on.
  StepCosts* costs = nullptr;
  std::function<void(int64_t done, int64_t total)> progress;
};

// By text, then by depth; plain first. Last, over all texts together: "all". An error where a token differed.
Result<std::vector<SpeculationCell>> bench_speculation(Forward& forward, const std::vector<BenchText>& texts,
                                                       const SpeculationBenchSettings& settings);

}  // namespace paceline
