// Pictures and clips of requests, decoded on threads of their own: text does not wait for them, small pictures do not
// wait for large ones, and all together take no more memory than they may.
#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <optional>
#include <vector>

#include "server/byte_budget.h"
#include "server/completion_plan.h"
#include "server/settings.h"
#include "server/work_lane.h"

namespace paceline {

class MediaDecoding {
 public:
  explicit MediaDecoding(const ServerSettings& settings);

  // All media of a request, one after the other; what is wrong with them, the planner knows then. `gone`: nobody wants
  // the rest any more. Called on a strand. What comes back is the memory of what was decoded: kept until the engine
  // counts it, or nobody wants it.
  boost::asio::awaitable<std::optional<ByteBudget::Hold>> run(CompletionPlanner& planner,
                                                              const std::atomic<bool>& gone);

  [[nodiscard]] std::vector<LaneState> states() const { return {small_.state(), large_.state()}; }
  // What is being decoded ends soon.
  void stop();

 private:
  boost::asio::awaitable<void> decode(CompletionPlanner& planner, size_t number, const std::atomic<bool>& gone);

  std::atomic<bool> stopping_ = false;
  ByteBudget budget_;   // of large ones; small ones are as many as threads
  ByteBudget decoded_;  // of what they all have become
  WorkLane small_, large_;
};

}  // namespace paceline
