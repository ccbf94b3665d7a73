// CpuOps over tokens: what a round of drafting needs around its products.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "base/check.h"
#include "kernels/cpu_ops.h"

namespace paceline::kernels {
namespace {

constexpr float kNoScore = -std::numeric_limits<float>::infinity();

// The `count` largest of scores in any order; of equal ones the first. What is not a number counts as the least.
void largest_of(const float* scores, int32_t all, int32_t count, std::vector<int32_t>& best) {
  const auto score = [&](int32_t i) { return std::isnan(scores[i]) ? kNoScore : scores[i]; };
  best.resize(static_cast<size_t>(all));
  std::iota(best.begin(), best.end(), 0);
  std::nth_element(best.begin(), best.begin() + (count - 1), best.end(),
                   [&](int32_t a, int32_t b) { return score(a) != score(b) ? score(a) > score(b) : a < b; });
  best.resize(static_cast<size_t>(count));
}

// Of equal ones the lowest id, as where every token is scored.
TokenId best_token(const ClustersArgs& args, std::span<const int32_t> clusters, const float* scores) {
  const int32_t size = args.clusters->first.rows;
  float top = kNoScore;
  TokenId token = std::numeric_limits<TokenId>::max();
  for (size_t i = 0; i < clusters.size(); ++i) {
    const TokenId* tokens = args.tokens + static_cast<int64_t>(clusters[i]) * size;
    const float* mine = scores + static_cast<int64_t>(i) * size;
    for (int32_t t = 0; t < size; ++t) {
      if (!(mine[t] >= top) || (mine[t] == top && tokens[t] > token)) continue;
      top = mine[t];
      token = tokens[t];
    }
  }
  return token == std::numeric_limits<TokenId>::max() ? 0 : token;
}

}  // namespace

void CpuOps::pick_tokens(const PickArgs& args) {
  for (size_t i = 0; i < args.given.size(); ++i)
    args.to[i] = i < args.from.size() && args.from[i] >= 0 ? args.known[args.from[i]] : args.given[i];
}

void CpuOps::side_by_side(const float* a, const float* b, int32_t rows, int32_t width, float* y) {
  const size_t bytes = static_cast<size_t>(width) * sizeof(float);
  for (int64_t row = 0; row < rows; ++row) {
    std::memcpy(y + 2 * row * width, a + row * width, bytes);
    std::memcpy(y + (2 * row + 1) * width, b + row * width, bytes);
  }
}

void CpuOps::best_of_clusters(const ClustersArgs& args, Activation activation) {
  const int32_t size = args.clusters->first.rows, hidden = args.clusters->first.cols;
  auto* scores = static_cast<float*>(
      cluster_scores_.at_least(static_cast<size_t>(args.top) * static_cast<size_t>(size) * sizeof(float)));
  Matrix clusters[kMaxProjections];
  Projection out[kMaxProjections];
  for (int32_t row = 0; row < args.rows; ++row) {
    largest_of(args.centroid_scores + static_cast<int64_t>(row) * args.clusters->count, args.clusters->count, args.top,
               best_clusters_);
    for (size_t done = 0; done < best_clusters_.size();) {
      const size_t some = std::min(best_clusters_.size() - done, kMaxProjections);
      for (size_t i = 0; i < some; ++i) {
        clusters[i] = args.clusters->at(best_clusters_[done + i]);
        out[i] = {&clusters[i], scores + static_cast<int64_t>(done + i) * size};
      }
      linear(args.x + static_cast<int64_t>(row) * hidden, 1, activation, {out, some});
      done += some;
    }
    args.best[row] = best_token(args, best_clusters_, scores);
  }
}

}  // namespace paceline::kernels
