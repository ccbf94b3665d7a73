// Takes tensors out of a checkpoint by name, checked against the shape the model expects, as the vectors and matrices
// that forwards read. Shared by the text model and the drafters: it knows MLX's packing, but no architecture.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "model/vector.h"
#include "tensor/matrix.h"
#include "weights/checkpoint.h"
#include "weights/quantised/declared.h"

namespace paceline {

class TensorBinder {
 public:
  TensorBinder(std::shared_ptr<const Checkpoint> checkpoint, ThreadPool& pool);

  [[nodiscard]] bool has(std::string_view name) const { return use_.has(name); }

  // [length] of BF16, F16 or F32, as float32.
  Status vector(std::string_view name, int64_t length, Vector* out);
  // Of any shape, as float32.
  Status floats(std::string_view name, const std::vector<int64_t>& shape, Vector* out);
  Status scalar(std::string_view name, float* out);
  // One value, whether its shape is [] or [1].
  Status number(std::string_view name, float* out);

  // [length] of I64 or I32: ids from 0 to limit - 1.
  Status ids(std::string_view name, int64_t length, int64_t limit, std::vector<TokenId>* out);

  // Whether a matrix of that name is there, in whatever format.
  [[nodiscard]] bool has_module(const std::string& name) const;

  // `name`.weight: [rows, cols] of BF16, F16 or F32 or in blocks, in place; or packed U32 with `name`.scales and
  // `name`.biases, or as one of weights/quantised/formats.h.
  Status matrix(const std::string& name, int64_t rows, int64_t cols, Matrix* out);
  // `name`.weight likewise, [count, rows, cols].
  Status stack(const std::string& name, int64_t count, int64_t rows, int64_t cols, MatrixStack* out);
  // The tensor `name` itself, [rows, cols].
  Status table(const std::string& name, int64_t rows, int64_t cols, Matrix* out) {
    return plain(name, {rows, cols}, out);
  }
  // Likewise, [count, rows, cols]; or `name`_packed with `name`_scale.
  Status plain_stack(const std::string& name, int64_t count, int64_t rows, int64_t cols, MatrixStack* out);

  // shape [count, rows, cols] of matrices of one format that lie anywhere: before + number + behind, as matrix() has
  // them.
  Status stack_of(const std::string& before, const std::string& behind, const std::vector<int64_t>& shape,
                  MatrixStack* out);

  // Tensors nobody took, as they lie, without those for rounding activations.
  [[nodiscard]] std::vector<const TensorView*> untaken() const;
  // The mapped files and whatever was copied; the views above live as long as these.
  [[nodiscard]] const std::shared_ptr<const Checkpoint>& checkpoint() const { return checkpoint_; }
  std::vector<std::shared_ptr<const void>> take_owners() { return std::move(owners_); }

 private:
  using Shape = std::vector<int64_t>;
  Result<const TensorView*> take(std::string_view name, const Shape& shape);
  Result<const void*> in_place(const TensorView& tensor);
  Status plain(const std::string& tensor_name, const Shape& shape, Matrix* out);
  Status quantised(const std::string& name, const Shape& shape, Matrix* out);
  // In one of weights/quantised/formats.h, or false. shape: with a dimension more for a stack.
  Result<bool> read_quantised(const std::string& name, const Shape& shape, Matrix* out);
  Status scales(const TensorView& scales, const TensorView& biases, Matrix* out);
  const void* as_f32(const TensorView& tensor);

  std::shared_ptr<const Checkpoint> checkpoint_;
  Result<DeclaredQuantization> declared_;
  ThreadPool& pool_;
  TensorUse use_;
  std::vector<std::shared_ptr<const void>> owners_;
};

}  // namespace paceline
