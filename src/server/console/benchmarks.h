// Measurements of the server by itself: one at a time, the last ones kept.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "server/http_call.h"
#include "server/settings.h"

namespace paceline {

// May be used by several threads.
class Benchmarks {
 public:
  // metrics: the text of /metrics, which says whose requests there were.
  Benchmarks(RunBenchmark run, std::function<std::string()> metrics)
      : run_(std::move(run)), metrics_(std::move(metrics)) {}
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
    int64_t done = 0, total = 0;
    int64_t others = 0;  // requests of others meanwhile
    std::atomic<bool> stopped = false;
  };
  HttpAnswer start(const HttpCall& call);
  HttpAnswer list();
  void measure(const std::string& url, Run& run);
  [[nodiscard]] double ended_requests() const;

  RunBenchmark run_;
  std::function<std::string()> metrics_;
  std::mutex mutex_;
  std::deque<std::shared_ptr<Run>> runs_;
  std::thread thread_;
};

}  // namespace paceline
