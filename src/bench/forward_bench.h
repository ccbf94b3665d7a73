// Measuring a model's forward: widths in turn, with the machine's read bandwidth beside them, medians of several
// rounds.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "model/forward.h"

namespace paceline {

struct ForwardBenchSettings {
  int32_t context = 512;
  int32_t prompt = 512;
  int32_t chunk = 0;  // rows of a prompt chunk; 0: what suits the device
  int32_t rounds = 9;
  std::vector<int32_t> widths = {1, 2, 4, 8, 16};
  // After each round. May be empty.
  std::function<void(int64_t done, int64_t total)> progress;
};

struct WidthResult {
  int32_t width = 0;
  double ms = 0;           // one forward, median
  double bytes = 0;        // of weights that it reads, median
  double share = 0;        // of the read bandwidth: median over rounds of (bytes / time) / bandwidth of the same round
  double ratio = 0;        // ms over width 1's: median over rounds of the ratio within a round
  double bytes_ratio = 0;  // bytes over width 1's
};

struct ForwardBenchResult {
  std::vector<WidthResult> widths;
  double bandwidth_gbs = 0;  // median
  double decode_tok_s = 0;   // width 1
  double prompt_tok_s = 0;
  double prompt_ratio = 0;  // prompt over decode, median of the ratios within a round
};

// An error where the backend had one meanwhile: what was measured behind a fault was not the model.
Result<ForwardBenchResult> bench_forward(Forward& forward, ThreadPool& pool, const ForwardBenchSettings& settings);

}  // namespace paceline
