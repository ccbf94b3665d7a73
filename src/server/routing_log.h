// What was chosen for each request, and why: JSON lines in a file, one for each change of drafter, depth or reason, or
// one for each step where that is asked for. No text is in it.
#pragma once

#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "engine/engine_parts.h"

namespace paceline {

struct RoutingLogSettings {
  std::string file;                      // "": none
  bool every_step = false;               // not only changes
  size_t most_bytes = size_t{64} << 20;  // of the file; then it becomes FILE.1, and another begins
};

// By the engine's thread. Hands everything on to the next observer.
class RoutingLog : public StepObserver {
 public:
  static Result<std::unique_ptr<RoutingLog>> open(const RoutingLogSettings& settings, std::string model,
                                                  StepObserver* next);

  void observe(const StepReport& report) override;
  void observe_failure(const std::string& why) override;

 private:
  RoutingLog(const RoutingLogSettings& settings, std::string model, StepObserver* next)
      : settings_(settings), model_(std::move(model)), next_(next) {}
  Status begin_file();
  [[nodiscard]] bool is_news(const DepthDecision& decision);
  void write(const StepReport& report, const DepthDecision& decision);

  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  RoutingLogSettings settings_;
  std::string model_;
  StepObserver* next_;
  std::unique_ptr<std::FILE, Close> file_;
  uint64_t written_ = 0;
  // What was said last of a request's choice. Forgotten now and then: what is said again does no harm.
  struct Said {
    int32_t depth;
    DepthReason reason;
    std::optional<DraftedBy> by;
    bool operator==(const Said&) const = default;
  };
  std::map<std::pair<uint64_t, int32_t>, Said> said_;
};

// As metrics call it.
const char* depth_reason_name(DepthReason reason);

}  // namespace paceline
