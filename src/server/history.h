// What /metrics said, second by second, for an hour, and in coarser steps for a day: so that a page that is just opened
// is not empty. Read from the very text of /metrics, all models together, so that the two can never disagree.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace paceline {

// Columns of a sample. Those up to kLastTotal grow since the start, and say something by their differences.
enum HistoryColumn : size_t {
  kTime,
  kPromptTokens,
  kOutputTokens,
  kCachedTokens,
  kLookedUpTokens,
  kRequests,
  kRounds,
  kDrafted,
  kAccepted,
  kAnswersGood,
  kAnswersRefused,
  kAnswersFailed,
  kDepth0,
  kDepth1,
  kDepth2,
  kDepth3,
  kDepth5,
  kDepth9,
  kPromptStepSeconds,
  kPromptSteps,
  kVerifyStepSeconds,
  kVerifySteps,
  kMixedStepSeconds,
  kMixedSteps,
  kDraftSeconds,
  kDraftings,
  kLastTotal = kDraftings,
  kRunning,
  kWaiting,
  kKvBytes,
  kKvUsed,
  kKvReserved,
  kKvCached,
  kMemory,        // of the process
  kDeviceMemory,  // that is used, by whomever; not a number: there is no device
  kFirstTokenHalf,
  kFirstTokenMost,  // 95 of 100
  kBetweenHalf,
  kBetweenMost,
  kHistoryColumns
};
std::string_view history_column_name(size_t column);

// Not a number: nothing is known, as of the time to a first token where there was none.
using HistorySample = std::array<double, kHistoryColumns>;

// A histogram's counts by upper border, those below included, as Prometheus has them.
using BorderCounts = std::map<double, double>;
// The value that so many of what came between two looks are below.
double quantile_between(const BorderCounts& before, const BorderCounts& now, double part);

// May be used by several threads.
class MetricsHistory {
 public:
  static constexpr size_t kFine = 3600, kCoarse = 2880, kCoarseSeconds = 30;

  // metrics: the text of /metrics; now: seconds since 1970; memory: bytes of the process, device: of a device.
  void add(std::string_view metrics, double now, double memory, std::optional<size_t> device = std::nullopt);
  // None: nothing has been added yet.
  [[nodiscard]] std::optional<HistorySample> newest() const;
  // {"columns": […], "totals": how many of them only grow, "before": {…}, "rows": […]} of the last so many seconds,
  // those behind `since` alone. before: JSON, what was counted before this server.
  [[nodiscard]] std::string json(double seconds, double since, std::string_view before = "{}") const;

 private:
  struct Reading {
    HistorySample sample{};
    BorderCounts first_token, between;
  };
  static Reading read(std::string_view metrics);
  static void add_quantiles(Reading& reading, const Reading& before);

  mutable std::mutex mutex_;
  std::deque<HistorySample> fine_, coarse_;
  Reading last_, last_coarse_;
};

}  // namespace paceline
