// What `paceline bench --context` found at several contexts: a table for people, JSON for programs, and a picture.
#pragma once

#include <boost/json/object.hpp>
#include <string>

#include "bench/context_bench.h"

namespace paceline {

struct ContextReport {
  std::string model, kernels, kv;  // kv: how keys and values are kept
  int threads = 0;
  double weight_gigabytes = 0;
  double busy_before = 0;  // share of the machine that something else was using
  ContextBenchResult result;
};

std::string context_table(const ContextReport& report);
boost::json::object context_json(const ContextReport& report);
// Tokens per second and memory over context.
std::string plot_contexts(const ContextReport& report);

}  // namespace paceline
