// What was chosen for each request, and why: JSON lines, the last of them at hand and all in a file where that is asked
// for; one for each change of drafter, depth or reason, or one for each step. No text is in it.
#pragma once

#include <cstdint>
#include <cstdio>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/engine_parts.h"

namespace paceline {

struct RoutingLogSettings {
  std::string file;                      // "": none
  bool every_step = false;               // not only changes
  size_t most_bytes = size_t{64} << 20;  // of the file; then it becomes FILE.1, and another begins
};

// Of all models. May be used by several threads; engines' among them, so nothing waits here but for a line's writing.
class RoutingLog {
 public:
  static Result<std::unique_ptr<RoutingLog>> open(const RoutingLogSettings& settings);

  // Requests carry the number as their label, and lines about them have the name; of the newest thousands.
  [[nodiscard]] uint64_t label_of(std::string request);

  // Hears the steps of one model's engine, by its thread, and hands everything on to the next. The log outlives it.
  [[nodiscard]] std::unique_ptr<StepObserver> of(std::string model, StepObserver* next);
  // The last lines, whether there is a file or not.
  [[nodiscard]] std::string recent() const;
  // The number that the next line gets; and those from a number on that are still known.
  [[nodiscard]] int64_t next_number() const;
  [[nodiscard]] std::vector<std::string> since(int64_t number) const;

 private:
  class Observer;
  explicit RoutingLog(const RoutingLogSettings& settings) : settings_(settings) {}
  Status begin_file();
  void add(const std::vector<std::string>& lines);
  // "": it has none, or that was long ago.
  [[nodiscard]] std::string name_of(uint64_t label) const;

  static constexpr size_t kMostRecent = 2000, kMostNames = 8192;
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  RoutingLogSettings settings_;
  mutable std::mutex mutex_;  // guards all below
  std::unique_ptr<std::FILE, Close> file_;
  uint64_t written_ = 0;
  std::deque<std::string> recent_;
  int64_t added_ = 0;
  std::deque<std::string> names_;
  uint64_t labels_ = 0;  // that were given; the last name's
};

// As metrics call it.
const char* depth_reason_name(DepthReason reason);

}  // namespace paceline
