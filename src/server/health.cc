#include "server/health.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <cmath>

namespace paceline {
namespace {

namespace json = boost::json;

double seconds_since(std::chrono::steady_clock::time_point then, std::chrono::steady_clock::time_point now) {
  return std::round(std::chrono::duration<double>(now - then).count() * 1000) / 1000;
}

json::array lanes_array(const std::vector<LaneState>& lanes) {
  json::array array;
  for (const LaneState& lane : lanes) {
    array.push_back({{"name", lane.name}, {"waiting", lane.waiting}, {"running", lane.running}});
  }
  return array;
}

}  // namespace

void Health::note(const EngineStats& stats, Clock::time_point now) {
  // A step may have looked at pictures and at nothing else.
  const bool stepped = stats.steps != steps_ || stats.pictures_seen != pictures_;
  if (stepped) stepped_ = now;
  if (stepped || stats.running + stats.waiting == 0) moved_ = now;
  steps_ = stats.steps;
  pictures_ = stats.pictures_seen;
}

void Health::report_engine(HealthReport& report) {
  const EngineStats stats = engine_->stats();
  const auto now = Clock::now();
  const std::lock_guard lock(mutex_);
  note(stats, now);
  json::object engine{{"running", stats.running}, {"waiting", stats.waiting}, {"steps", stats.steps}};
  engine["last_step_s_ago"] = stats.steps > 0 ? json::value(seconds_since(stepped_, now)) : json::value();
  report.details["engine"] = std::move(engine);
  if (stats.failed) {
    report.failed = true;
    report.problem = fmt::format("the engine failed: {}", stats.failure);
  } else if (report.still_s = seconds_since(moved_, now); report.still_s > stuck_s_) {
    report.problem = fmt::format("the engine has work and has made no step for {:.1f} s", report.still_s);
  }
}

HealthReport Health::report(const std::vector<LaneState>& lanes) {
  HealthReport report;
  if (engine_ != nullptr) report_engine(report);
  report.details["lanes"] = lanes_array(lanes);
  if (!report.problem.empty()) return report;
  for (const LaneState& lane : lanes) {
    if (lane.still_s <= stuck_s_) continue;
    report.problem =
        fmt::format("the threads that prepare {} requests have not got on for {:.1f} s", lane.name, lane.still_s);
  }
  return report;
}

}  // namespace paceline
