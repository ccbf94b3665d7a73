// `paceline bench --serve`: a load on a server, plain and with drafts in turn; what its clients see of it.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/load_run.h"

namespace paceline {

struct ServeBenchOptions {
  std::string url;    // "": a server of our own, of `model`
  std::string model;  // as for generate's -m
  std::string draft = "auto";
  std::vector<int32_t> at_once{1, 4, 16, 64};
  double per_second = 0;
  int32_t requests = 0;  // of a run; 0: as many as suit
  int32_t rounds = 3;
  std::string ways = "both";  // plain, auto, both
  int32_t prefix_words = 0;   // above 0: what a known beginning of so many words saves
  int32_t pictures = 0;       // above 0: how long a stream stands still beside so many
  int32_t picture_tokens = 280;
  LoadMix mix;
  bool json = false;
  std::string out = "serving";
};

void add_serve_bench_options(CLI::App& command, ServeBenchOptions& options);
int run_serve_bench(const ServeBenchOptions& options);

}  // namespace paceline
