// What is counted and timed, for Prometheus: under the names that routers read from vLLM, and under our own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "server/work_lane.h"

namespace paceline {

// May be used by several threads.
class Metrics : public StepObserver {
 public:
  explicit Metrics(const std::string& model_name);
  ~Metrics() override;

  // By the engine's thread, for each step.
  void observe(const StepReport& report) override;

  void prompt_done(int64_t tokens);
  void first_token(double seconds);
  // So many tokens at once, after so long.
  void more_tokens(int64_t count, double seconds);
  void tokens_made(int64_t count);
  void request_ended(double seconds, std::string_view reason);
  void answered(std::string_view route, int status);
  void connections(int64_t open);

  // What the engine says now; and what it said last, before another takes its place.
  void note_engine(const EngineStats& stats);
  void keep_engine(const EngineStats& stats);
  // What those who prepare requests and the log say now.
  void note_server(const std::vector<LaneState>& lanes, int64_t log_lines_dropped);

 private:
  friend std::string metrics_text_of(const Metrics* server, const std::vector<Metrics*>& models);
  struct Families;
  std::unique_ptr<Families> families_;
};

// All of it, model by model. server: who counts what belongs to none of them; none: the model does, and there is one.
std::string metrics_text_of(const Metrics* server, const std::vector<Metrics*>& models);

}  // namespace paceline
