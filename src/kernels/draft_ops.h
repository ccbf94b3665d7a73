// What drafters need of every backend besides a forward's operations: the best token of a row, of all tokens or of a
// few clusters of them.
#pragma once

#include <cstdint>

#include "tensor/dtype.h"
#include "tensor/matrix.h"

namespace paceline::kernels {

enum class Activation : uint8_t;  // ops.h

// The best token of each row among those of its best clusters; of equal ones the lowest id, 0 where nothing is a
// number.
struct ClustersArgs {
  const float* centroid_scores = nullptr;  // [rows, centroids]
  const MatrixStack* clusters = nullptr;   // [centroids] of [size, hidden]
  const TokenId* tokens = nullptr;         // [centroids, size], the backend's memory: whose rows those are
  const float* x = nullptr;                // [rows, hidden]
  int32_t rows = 0;
  int32_t top = 0;          // clusters that are scored; of equal ones the first
  TokenId* best = nullptr;  // [rows]
};

// A part of Ops.
class DraftOps {
 public:
  virtual ~DraftOps() = default;

  // Of each row of x [rows, width] the first of the largest; what is not a number is never it. `best` [rows].
  virtual void argmax(const float* x, int32_t rows, int32_t width, TokenId* best) = 0;
  virtual void best_of_clusters(const ClustersArgs& args, Activation activation) = 0;
};

}  // namespace paceline::kernels
