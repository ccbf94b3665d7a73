#include "model/placing.h"

#include "weights/made_memory.h"

namespace paceline {

void Placing::place(Matrix& w) {
  const Matrix before = w;
  w = ops_.place(w, owners_);
  if (w.values != before.values) forget(before);
  keep(w);
}

void Placing::place(MatrixStack& stack) {
  const MatrixStack before = stack;
  stack = ops_.place(stack, owners_);
  for (int32_t e = 0; e < stack.count; ++e) keep(stack.at(e));
  if (stack.first.values == before.first.values) return;
  for (int32_t e = 0; e < before.count; ++e) forget(before.at(e));
}

void Placing::place_table(Matrix& w) {
  const Matrix before = w;
  w = ops_.place_table(w, owners_);
  if (w.values != before.values) forget(before);
  keep(w);
}

void Placing::keep(const Matrix& placed) {
  for (const void* part : {placed.values, placed.scales, placed.biases, static_cast<const void*>(placed.factors),
                           static_cast<const void*>(placed.levels), static_cast<const void*>(placed.columns)})
    if (part != nullptr) read_.push_back(part);
}

void Placing::finish() {
  keep_made(read_, owners_);
  if (checkpoint_ != nullptr && rearranged_) checkpoint_->forget_all();
}

void Placing::forget(const Matrix& w) {
  rearranged_ = true;
  if (checkpoint_ == nullptr) return;
  const auto rows = static_cast<size_t>(w.rows);
  checkpoint_->forget({static_cast<const std::byte*>(w.values), rows * w.row_value_bytes()});
  for (const void* part : {w.scales, w.biases}) {
    checkpoint_->forget({static_cast<const std::byte*>(part), rows * w.row_scale_bytes()});
  }
}

}  // namespace paceline
