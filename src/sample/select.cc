#include "sample/select.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>

namespace paceline {
namespace {

constexpr float kNotTaken = -std::numeric_limits<float>::infinity();

// A value that at least `count` logits reach: the count-th largest of the pieces' largest, since each of those stands
// for one logit at least.
float lower_bound_of_top(std::span<const float> largest, int64_t count, std::vector<float>& scratch) {
  if (count >= static_cast<int64_t>(largest.size())) return kNotTaken;
  scratch.assign(largest.begin(), largest.end());
  const auto nth = scratch.begin() + (count - 1);
  std::nth_element(scratch.begin(), nth, scratch.end(), std::greater<>());
  return *nth;
}

// Integers in the order of the floats they come from: compilers know how to take the largest integer with vectors, but
// not the largest float, whose NaN and signed zeros get in the way.
int32_t order_key(float value) {
  const auto bits = std::bit_cast<int32_t>(value);
  return bits ^ ((bits >> 31) & 0x7fffffff);
}

float from_order_key(int32_t key) { return std::bit_cast<float>(key ^ ((key >> 31) & 0x7fffffff)); }

}  // namespace

void find_largest(std::span<const float> row, std::vector<float>& largest) {
  const auto length = static_cast<int64_t>(row.size());
  largest.clear();
  for (int64_t begin = 0; begin < length; begin += kPieceLogits) {
    const int64_t end = std::min(begin + kPieceLogits, length);
    int32_t key = std::numeric_limits<int32_t>::min();
    for (int64_t i = begin; i < end; ++i) key = std::max(key, order_key(row[i]));
    largest.push_back(from_order_key(key));
  }
}

void select_top(const RowPieces& pieces, int64_t count, std::vector<float>& threshold, std::vector<Candidate>& out) {
  out.clear();
  if (count <= 0) return;
  const float bound = lower_bound_of_top(pieces.largest, count, threshold);
  const auto length = static_cast<int64_t>(pieces.row.size());
  for (int64_t piece = 0; piece < static_cast<int64_t>(pieces.largest.size()); ++piece) {
    if (pieces.largest[piece] < bound) continue;
    const int64_t end = std::min((piece + 1) * kPieceLogits, length);
    for (int64_t i = piece * kPieceLogits; i < end; ++i) {
      const float logit = pieces.row[i];
      if (logit >= bound && logit != kNotTaken) out.push_back({logit, static_cast<TokenId>(i)});
    }
  }
  if (static_cast<int64_t>(out.size()) > count) {
    std::nth_element(out.begin(), out.begin() + (count - 1), out.end(), before);
    out.resize(static_cast<size_t>(count));
  }
  std::sort(out.begin(), out.end(), before);
}

}  // namespace paceline
