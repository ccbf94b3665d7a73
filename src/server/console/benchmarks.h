// Measurements of the server by itself, one at a time. Those that have ended are kept (run_store).
#pragma once

#include <atomic>
#include <boost/json/object.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "server/console/run_store.h"
#include "server/http_call.h"
#include "server/settings.h"

namespace paceline {

// May be used by several threads.
class Benchmarks {
 public:
  // metrics: the text of /metrics, which says whose requests there were. facts: what is measured, and on what.
  Benchmarks(const ServerSettings& settings, std::function<std::string()> metrics,
             std::function<boost::json::object()> facts)
      : run_(settings.run_benchmark),
        kinds_(settings.benchmark_kinds),
        metrics_(std::move(metrics)),
        facts_(std::move(facts)),
        ended_(settings.benchmark_file) {}
  ~Benchmarks();
  Benchmarks(const Benchmarks&) = delete;
  Benchmarks& operator=(const Benchmarks&) = delete;

  [[nodiscard]] static bool is_route(std::string_view path);
  HttpAnswer handle(const HttpCall& call);

 private:
  struct Run {
    std::string id;
    BenchmarkPlan plan;
    double began = 0, ended = 0;  // seconds since 1970
    std::string state = "running";
    std::string problem, report, svg;
    std::string now;            // what is measured
    boost::json::object facts;  // at its beginning
    int64_t done = 0, total = 0;
    int64_t others = 0;  // requests of others meanwhile
    std::atomic<bool> stopped = false;
  };
  HttpAnswer start(const HttpCall& call);
  HttpAnswer list();
  HttpAnswer one(const HttpCall& call, std::string_view id);
  [[nodiscard]] static boost::json::object object_of(const Run& run);
  void measure(const std::string& url, Run& run);
  [[nodiscard]] double ended_requests() const;

  RunBenchmark run_;
  std::vector<std::string> kinds_;
  std::function<std::string()> metrics_;
  std::function<boost::json::object()> facts_;
  std::mutex mutex_;
  std::shared_ptr<Run> running_;
  RunStore ended_;
  std::thread thread_;
};

}  // namespace paceline
