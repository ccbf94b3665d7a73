// Measuring a model's forward: widths in turn, with the machine's read bandwidth beside them, medians of several
// rounds.
#pragma once

#include <functional>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/ops.h"
#include "model/forward.h"

namespace paceline {

struct BenchSettings {
  int32_t context = 512;
  int32_t prompt = 512;
  int32_t chunk = kMaxForwardRows;  // rows of a prompt chunk
  int32_t rounds = 9;
  Precision precision = Precision::bf16;
  std::vector<int32_t> widths = {1, 2, 4, 8, 16};
  double busy_before = 0;  // share of the machine that something else was using
  // After each round: how many are done.
  std::function<void(int32_t)> on_round;
};

struct WidthResult {
  int32_t width = 0;
  double ms = 0;           // one forward, median
  double bytes = 0;        // of weights that it reads, median
  double share = 0;        // of the read bandwidth: median over rounds of (bytes / time) / bandwidth of the same round
  double ratio = 0;        // ms over width 1's: median over rounds of the ratio within a round
  double bytes_ratio = 0;  // bytes over width 1's
};

struct BenchResult {
  std::vector<WidthResult> widths;
  double bandwidth_gbs = 0;  // median
  double decode_tok_s = 0;   // width 1
  double prompt_tok_s = 0;
  double prompt_ratio = 0;  // prompt over decode, median of the ratios within a round
  double busy_before = 0;   // as it was given
};

BenchResult bench_forward(Forward& forward, ThreadPool& pool, const BenchSettings& settings);

// Share of all cores that was busy over a short while.
double measure_busy();

}  // namespace paceline
