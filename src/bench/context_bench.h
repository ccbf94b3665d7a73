// Measuring a model's forward at several contexts, short and long, in one run: one sequence is read up to each of them
// in turn, and at each a plain step and a verify are timed by turns, with the machine's read bandwidth beside them.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "model/forward.h"

namespace paceline {

struct ContextBenchSettings {
  std::vector<int32_t> contexts;  // ascending
  std::vector<int32_t> widths = {1, 8};
  int32_t chunk = 0;   // rows of a prompt chunk; 0: what suits the device
  int32_t rounds = 5;  // at each context
  std::function<void(int64_t done, int64_t total)> progress;
};

struct ContextResult {
  int32_t context = 0;
  double prompt_tok_s = 0;  // of a prompt of so many tokens, from nothing
  double step_ms = 0;       // of the first width
  double tok_s = 0;
  double weight_bytes = 0, kv_bytes = 0;  // that a plain step reads
  double over_bytes = 0;                  // its time over that of reading these at the bandwidth of the same round
  std::vector<double> ratios;             // of each width to the first, medians of the ratios within a round
  double memory_bytes = 0;                // that keys and values take
};

struct ContextBenchResult {
  double bandwidth_gbs = 0;
  std::vector<int32_t> widths;
  std::vector<ContextResult> contexts;
};

Result<ContextBenchResult> bench_contexts(Forward& forward, ThreadPool& pool, const ContextBenchSettings& settings);

}  // namespace paceline
