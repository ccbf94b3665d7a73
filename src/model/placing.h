// Places a model's weights with a backend (kernels::Ops::place), matrix by matrix; what a file held of one that was
// rearranged is not needed in memory any more.
#pragma once

#include <memory>
#include <vector>

#include "kernels/ops.h"
#include "model/vector.h"
#include "tensor/matrix.h"
#include "weights/checkpoint.h"

namespace paceline {

class Placing {
 public:
  // checkpoint: the files that matrices may lie in; none where they were made in memory.
  Placing(kernels::Ops& ops, std::vector<std::shared_ptr<const void>>& owners, const Checkpoint* checkpoint)
      : ops_(ops), owners_(owners), checkpoint_(checkpoint) {}

  void place(Matrix& w);
  void place(MatrixStack& stack);
  void place_table(Matrix& w);
  void place(Vector& vector) { vector.set_placed(vector.empty() ? nullptr : ops_.place(vector, owners_)); }
  // Behind the last one: memory that was made on the way from the files (weights/made_memory.h) and is read by no
  // placed matrix goes; and reading a file fetches more than was asked for, also of what was given back already.
  void finish();

 private:
  void forget(const Matrix& w);
  void keep(const Matrix& placed);

  kernels::Ops& ops_;
  std::vector<std::shared_ptr<const void>>& owners_;
  const Checkpoint* checkpoint_;
  bool rearranged_ = false;
  std::vector<const void*> read_;  // what placed matrices read
};

}  // namespace paceline
