// What `paceline bench` found out about a forward, as a table for people and as JSON for programs.
#pragma once

#include <boost/json/object.hpp>
#include <string>

#include "bench/forward_bench.h"

namespace paceline {

struct ForwardReport {
  std::string model, kernels;
  int threads = 0;
  int32_t context = 0, prompt = 0;
  double weight_gigabytes = 0;
  double busy_before = 0;  // share of the machine that something else was using
  ForwardBenchResult result;
};

std::string forward_table(const ForwardReport& report);
boost::json::object forward_json(const ForwardReport& report);

}  // namespace paceline
