// What `paceline bench --speculation` found, as a table for people and as JSON for programs.
#pragma once

#include <boost/json/fwd.hpp>
#include <string>
#include <vector>

#include "bench/speculation_bench.h"

namespace paceline {

struct SpeculationReport {
  std::string model, drafter, kernels;
  int threads = 0;
  int32_t rounds = 0, max_tokens = 0;
  float temperature = 0;
  double busy_before = 0;  // share of the machine that something else was using
  std::vector<SpeculationCell> cells;
};

std::string report_table(const SpeculationReport& report);
boost::json::object report_json(const SpeculationReport& report);

}  // namespace paceline
