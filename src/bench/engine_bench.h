// Measuring the engine: many requests at once, plain and with drafts by the policy, in turn. Every run's tokens are
// compared with those of a plain run, one request at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.h"
#include "bench/texts.h"
#include "engine/engine.h"

namespace paceline {

struct EngineBenchSettings {
  std::vector<int32_t> at_once{1, 4, 16, 64};
  int32_t rounds = 5;
  Drafter* drafter = nullptr;
  std::vector<StepCosts> costs;  // of each drafter: what is known before the first round
  std::function<void(int64_t done, int64_t total)> progress;
};

// So many requests at once.
struct EngineCell {
  int32_t at_once = 0;
  double plain_tok_s = 0, auto_tok_s = 0;  // all tokens over all the time, prompts included
  double ratio = 0;                        // auto ÷ plain
  double tokens_per_verify = 0;
  std::vector<double> ratios;  // by round
};

// An error where a token differed, or a request could not be run.
Result<std::vector<EngineCell>> bench_engine(Forward& forward, ThreadPool& pool, const std::vector<BenchText>& texts,
                                             const EngineBenchSettings& settings);

}  // namespace paceline
