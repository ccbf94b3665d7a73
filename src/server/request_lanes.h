// Who prepares which request. A large one, or many of them, never stand before a small one: each size has threads of
// its own, and those of the large ones stand back furthest.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "server/byte_budget.h"
#include "server/work_lane.h"

namespace paceline {

class RequestLanes {
 public:
  // threads: of the lane for small ones; the others have half as many, or one. waiting_bytes: of the bodies that wait
  // for these others.
  RequestLanes(int32_t threads, size_t waiting_bytes);

  // weight: about the bytes of text that there are to be read and rendered.
  WorkLane& lane_for(size_t weight) { return lanes_[size_class(weight)]; }
  // 0: small.
  [[nodiscard]] static size_t size_class(size_t weight);

  ByteBudget& waiting_bytes() { return waiting_bytes_; }

  [[nodiscard]] std::vector<LaneState> states() const;
  void stop();

 private:
  ByteBudget waiting_bytes_;
  std::array<WorkLane, 3> lanes_;
};

}  // namespace paceline
