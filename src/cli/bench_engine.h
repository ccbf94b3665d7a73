// Measuring the engine: many requests at once, plain and with drafts by the policy, in turn; and one at a time against
// the bare loop, which is all that a single request needs. Every run's tokens are compared with the bare plain run's.
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/bench_speculation.h"
#include "engine/engine.h"

namespace paceline {

struct EngineBenchSettings {
  std::vector<int32_t> at_once{1, 4, 16, 64};
  int32_t rounds = 5;
  Proposer* single = nullptr;      // for the bare loop
  BatchProposer* batch = nullptr;  // for the engine; the same drafter
  StepCosts* costs = nullptr;      // what is known before the first round; each way learns on by itself
  std::function<void(int64_t done, int64_t total)> progress;
};

// So many requests at once; 0: one after the other through the bare loop.
struct EngineCell {
  int32_t at_once = 0;
  double plain_tok_s = 0, auto_tok_s = 0;      // all tokens over all the time, prompts included
  double ratio = 0;                            // auto ÷ plain
  double plain_of_bare = 0, auto_of_bare = 0;  // the engine's rate ÷ the bare loop's, of one at a time
  double tokens_per_verify = 0;
  std::vector<double> ratios;  // by round
};

// An error where a token differed.
Result<std::vector<EngineCell>> bench_engine(Forward& forward, ThreadPool& pool, const std::vector<BenchText>& texts,
                                             const EngineBenchSettings& settings);

std::string engine_table(const std::vector<EngineCell>& cells);
boost::json::array engine_json(const std::vector<EngineCell>& cells);

}  // namespace paceline
