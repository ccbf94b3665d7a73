// The k largest of a long row, without sorting the row.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tensor/dtype.h"

namespace paceline {

struct Candidate {
  float logit = 0;
  TokenId id = 0;
};

// Larger logit first; of equals the lower id. A total order, so that every way to select gives the same list.
constexpr bool before(const Candidate& a, const Candidate& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

// Largest values of consecutive pieces of the row: what lets a selection skip nearly all of it.
inline constexpr int32_t kPieceLogits = 64;

struct RowPieces {
  std::span<const float> row;      // no NaN
  std::span<const float> largest;  // [ceil(row / kPieceLogits)]
};

void find_largest(std::span<const float> row, std::vector<float>& largest);

// The first `count` of the row in the order of before(), sorted, leaving out -infinity. `threshold` is scratch memory.
void select_top(const RowPieces& pieces, int64_t count, std::vector<float>& threshold, std::vector<Candidate>& out);

}  // namespace paceline
