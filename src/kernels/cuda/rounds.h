// What a round of drafting and choosing needs on the device around its products, as plain arguments.
#pragma once

#include "kernels/choosing_ops.h"
#include "kernels/cuda/matmul.h"
#include "kernels/ops.h"

namespace paceline::kernels::cuda {

// Equal arguments are equal bytes: see Launches.
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wpadded"

// to[i] = given[i], or drafted[from[i]] where from[i] >= 0; all device memory, `from` may be none.
struct PickRows {
  const int32_t* given = nullptr;
  const int32_t* from = nullptr;
  const int32_t* drafted = nullptr;
  int32_t* to = nullptr;
  int32_t rows = 0;
  int32_t filler = 0;
};
void pick_tokens(const PickRows& args, Stream stream);

// y[r] = a[r] and then b[r]
struct BesideArgs {
  const float* a = nullptr;
  const float* b = nullptr;
  float* y = nullptr;
  uint16_t* y_bf16 = nullptr;  // [rows, y_stride] as bf16, or none
  int32_t rows = 0, width = 0;
  int32_t y_stride = 0, filler = 0;
};
void side_by_side(const BesideArgs& args, Stream stream);

struct ClusterRows {
  const float* centroid_scores = nullptr;  // [rows, centroids]
  Weight clusters;                         // a stack of [size, hidden]
  const int32_t* tokens = nullptr;         // [centroids, size]
  const float* x = nullptr;                // [rows, hidden]
  int32_t rows = 0, centroids = 0, top = 0;
  int32_t exact = 0;          // x is not rounded
  int32_t* chosen = nullptr;  // [rows, top]
  uint64_t* keys = nullptr;   // [rows, top]
  int32_t* best = nullptr;    // [rows]
};
inline constexpr int32_t kMostCentroids = 4096;
inline constexpr int32_t kMostClusterHidden = 2048;
void best_of_clusters(const ClusterRows& args, Stream stream);

struct ChooseRows {
  const float* logits = nullptr;
  const int32_t* row_tokens = nullptr;
  const float* hidden = nullptr;
  int32_t vocab = 0, width = 0;
  const ChoiceRow* rows = nullptr;      // [row_count], device memory
  const ChoiceChain* chains = nullptr;  // [chain_count], device memory
  int32_t row_count = 0, chain_count = 0;
  uint64_t* tops = nullptr;   // [row_count, choice_pieces(vocab)]
  int32_t* chosen = nullptr;  // [2, row_count]
};
// Logits of which the largest is found first, so that most others need not be looked at again.
inline constexpr int32_t kChoicePiece = 64;
PACELINE_BOTH constexpr int32_t choice_pieces(int32_t vocab) { return ceil_div(vocab, kChoicePiece); }
void choose(const ChooseRows& args, Stream stream);

#pragma GCC diagnostic pop

}  // namespace paceline::kernels::cuda
