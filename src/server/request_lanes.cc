#include "server/request_lanes.h"

#include <algorithm>

namespace paceline {
namespace {

// What chats and short documents have; what a coding agent sends of a long session.
constexpr size_t kSmallBytes = size_t{64} << 10, kMiddleBytes = size_t{1} << 20;
// Against the engine's threads, which have 0: about a third of a core where all want it, and a tenth.
constexpr int kNiceSmall = 5, kNiceLarger = 10;

}  // namespace

RequestLanes::RequestLanes(int32_t threads, size_t waiting_bytes)
    : waiting_bytes_(waiting_bytes),
      lanes_{{{"small", threads, kNiceSmall},
              {"middle", std::max(1, threads / 2), kNiceLarger},
              {"large", std::max(1, threads / 2), kNiceLarger}}} {}

size_t RequestLanes::size_class(size_t weight) { return weight <= kSmallBytes ? 0 : weight <= kMiddleBytes ? 1 : 2; }

std::vector<LaneState> RequestLanes::states() const {
  std::vector<LaneState> states;
  for (const WorkLane& lane : lanes_) states.push_back(lane.state());
  return states;
}

void RequestLanes::stop() {
  for (WorkLane& lane : lanes_) lane.stop();
}

}  // namespace paceline
