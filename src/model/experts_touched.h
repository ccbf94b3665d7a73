// How many experts a call reads.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/ops.h"

namespace paceline {

struct ChosenExperts {
  const int32_t* chosen = nullptr;  // [rows, per_row], the backend's memory
  int32_t rows = 0, per_row = 0;
  int32_t experts = 0;
};

// Where only the device knows which were chosen, as many as so many rows would touch by chance.
inline int32_t experts_touched(const kernels::Ops& ops, const ChosenExperts& of) {
  if (const auto counted = ops.count_distinct(of.chosen, int64_t{of.rows} * of.per_row, of.experts)) return *counted;
  const double missed = std::pow(1.0 - static_cast<double>(of.per_row) / of.experts, of.rows);
  return static_cast<int32_t>(std::lround(of.experts * (1.0 - missed)));
}

}  // namespace paceline
