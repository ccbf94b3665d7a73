// What `paceline bench --engine` found, as a table for people and as JSON for programs.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <vector>

#include "bench/engine_bench.h"

namespace paceline {

struct EngineReport {
  std::string model, drafter, kernels;
  int threads = 0;
  int32_t rounds = 0;
  double busy_before = 0;  // share of the machine that something else was using
  std::vector<EngineCell> cells;
};

std::string engine_table(const EngineReport& report);
boost::json::object engine_json(const EngineReport& report);

}  // namespace paceline
