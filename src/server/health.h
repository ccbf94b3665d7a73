// Whether requests get through: the threads that prepare them and the engine's steps, by when they last got on. Asking
// needs none of them.
#pragma once

#include <boost/json/object.hpp>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "server/work_lane.h"

namespace paceline {

struct HealthReport {
  std::string problem;          // "": none
  bool failed = false;          // the engine has given up, and says so
  double still_s = 0;           // that the engine has had work and made no step
  boost::json::object details;  // what is at hand, and how long nothing got on
};

// May be used by several threads.
class Health {
 public:
  // The engine must outlive it; none: only lanes are looked at. stuck_s: work that has not got on for so long never
  // will.
  Health(Engine* engine, double stuck_s) : engine_(engine), stuck_s_(stuck_s) {}

  // To be called a few times in a second: a step that was made in between is seen here. lanes: those that every request
  // passes.
  [[nodiscard]] HealthReport report(const std::vector<LaneState>& lanes);

 private:
  using Clock = std::chrono::steady_clock;
  void note(const EngineStats& stats, Clock::time_point now);
  void report_engine(HealthReport& report);

  Engine* engine_;
  const double stuck_s_;
  std::mutex mutex_;
  int64_t steps_ = 0, pictures_ = 0;
  Clock::time_point stepped_{};             // a step was last seen to have been made
  Clock::time_point moved_ = Clock::now();  // or there was nothing to do
};

}  // namespace paceline
