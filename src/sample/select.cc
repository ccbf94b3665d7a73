#include "sample/select.h"

#include <algorithm>
#include <limits>

namespace paceline {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

// A value that at least `count` logits reach: the count-th largest of the pieces' largest, since each of those stands
// for one logit at least.
float lower_bound_of_top(std::span<const float> largest, int64_t count, std::vector<float>& scratch) {
  if (count >= static_cast<int64_t>(largest.size())) return kNever;
  scratch.assign(largest.begin(), largest.end());
  const auto nth = scratch.begin() + (count - 1);
  std::nth_element(scratch.begin(), nth, scratch.end(), std::greater<>());
  return *nth;
}

}  // namespace

void find_largest(std::span<const float> row, std::vector<float>& largest) {
  const auto length = static_cast<int64_t>(row.size());
  largest.clear();
  for (int64_t begin = 0; begin < length; begin += kPieceLogits) {
    const int64_t end = std::min(begin + kPieceLogits, length);
    // Eight running maxima, so that the compiler may use vectors without reordering anything that rounds.
    float lanes[8] = {kNever, kNever, kNever, kNever, kNever, kNever, kNever, kNever};
    int64_t i = begin;
    for (; i + 8 <= end; i += 8) {
      for (int lane = 0; lane < 8; ++lane) lanes[lane] = lanes[lane] < row[i + lane] ? row[i + lane] : lanes[lane];
    }
    for (; i < end; ++i) lanes[0] = std::max(lanes[0], row[i]);
    largest.push_back(*std::max_element(lanes, lanes + 8));
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
      if (logit >= bound && logit != kNever) out.push_back({logit, static_cast<TokenId>(i)});
    }
  }
  if (static_cast<int64_t>(out.size()) > count) {
    std::nth_element(out.begin(), out.begin() + (count - 1), out.end(), before);
    out.resize(static_cast<size_t>(count));
  }
  std::sort(out.begin(), out.end(), before);
}

}  // namespace paceline
