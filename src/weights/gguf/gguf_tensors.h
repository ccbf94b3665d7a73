// The tensors of a checkpoint made of GGUF files, under Hugging Face's names: most as they lie, some rearranged, some
// that the files leave out because everybody knows them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "weights/checkpoint.h"
#include "weights/gguf/gguf_files.h"

namespace paceline {

class GgufTensors {
 public:
  // As it lies, in another shape of as many elements or in its own.
  void add(std::string name, const GgufFiles& files, const GgufTensor& tensor, std::vector<int64_t> shape = {});
  // Likewise, with what a tensor beside it multiplies it with, if there is one: NVFP4's scale of a matrix, or of each
  // matrix of a stack. Such a tensor itself is passed by (is_matrix_scale).
  Status add_scaled(std::string name, const GgufFiles& files, const GgufTensor& tensor,
                    std::vector<int64_t> shape = {});
  // In memory of its own.
  void add_floats(std::string name, std::vector<int64_t> shape, std::vector<float> values);

  [[nodiscard]] std::vector<TensorView> take() { return std::move(views_); }
  [[nodiscard]] std::vector<std::shared_ptr<const void>> take_owners() { return std::move(owners_); }

 private:
  std::vector<TensorView> views_;
  std::vector<std::shared_ptr<const void>> owners_;
};

// "blk.0.attn_q.scale" beside a "blk.0.attn_q.weight" in NVFP4.
bool is_matrix_scale(const GgufFiles& files, std::string_view name);

// The numbers of a tensor, whatever its type. An error where they are no floats.
Result<std::vector<float>> gguf_floats(const GgufFiles& files, const GgufTensor& tensor);

}  // namespace paceline
