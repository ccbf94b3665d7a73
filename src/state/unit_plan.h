// Into units of which size a device's memory is cut, and where in a block of units each part of a layer's page lies.
// All units are equal, so whatever mix of kinds comes and goes, a free unit fits whoever asks: nothing can fragment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "state/state_kind.h"

namespace paceline {

// What one block of a kind holds of one layer: the keys of a page, or its values.
struct StatePart {
  StateKind kind = StateKind::window;
  size_t bytes = 0;
};

struct UnitPlan {
  struct Place {
    int32_t unit = 0;   // of the block's
    size_t offset = 0;  // in it, a multiple of kPartAlignment
  };
  size_t unit_bytes = 0;
  ByKind<int32_t> block_units;  // of a block of the kind; 0: no layer has it
  std::vector<Place> places;    // of the parts
  // The share of a kind's blocks that nothing lies in: units that are not full.
  ByKind<double> waste;
};

inline constexpr size_t kPartAlignment = 256;

// Pages of the newest positions that are held, of a model's layers and of a drafter's.
struct UnitRings {
  int32_t window = 0, draft_window = 0;
};

// The size that wastes least of what sequences hold, short ones and long ones; a drafter's kinds come behind the
// model's. Of equal ones the largest, which is the fewest units. Parts are not cut.
UnitPlan plan_units(std::span<const StatePart> parts, const UnitRings& rings);

}  // namespace paceline
