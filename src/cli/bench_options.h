// The options of `paceline bench`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/forward_bench.h"
#include "bench/serve_bench.h"
#include "bench/target.h"
#include "cli/command_line.h"
#include "session/opened_model.h"

namespace paceline {

struct BenchOptions {
  RunOptions run;  // but for the model, which is the source's
  BenchSource source;
  bool json = false;
  ForwardBenchSettings forward;
  std::vector<int32_t> contexts{512};  // several: at each in turn
  bool speculation = false, engine = false, serve = false;
  ServeBenchSettings serving;
  std::string ways = "both";  // of serving: plain, auto, both
  std::vector<int32_t> at_once{1, 4, 16, 64};
  std::string draft = "auto";
  std::vector<std::string> depths{"1", "2", "3", "4", "5", "6", "7", "8", "auto"};
  int32_t rounds = 0;  // 0: what suits the measurement
  int32_t tokens = 128;
  float temperature = 0;
  std::string out;  // default: speculation or serving
  bool out_given = false, widths_given = false;
};

void add_bench_options(const Command& command, BenchOptions& options);

// Of `paceline serve`, so that it computes as the options say.
std::vector<std::string> server_arguments(const BenchOptions& options);

}  // namespace paceline
