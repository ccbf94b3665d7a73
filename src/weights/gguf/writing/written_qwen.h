// Qwen3, Qwen3-MoE, Qwen3.5 and Qwen3.5-MoE in the words of GGUF: tensors under its names and in its order, and the
// keys that describe them.
#pragma once

#include <boost/json/object.hpp>
#include <vector>

#include "base/result.h"
#include "weights/checkpoint.h"
#include "weights/gguf/gguf_words.h"
#include "weights/gguf/writing/gguf_keys.h"
#include "weights/gguf/writing/gguf_recipe.h"
#include "weights/gguf/writing/written_tensor.h"

namespace paceline {

// By its model_type.
bool is_written_qwen(const boost::json::object& config);

// What config.json says that decides how tensors lie.
struct QwenForm {
  std::string architecture;  // "qwen35moe"
  QwenGgufLayers layers;
  bool tied = false;
  int64_t experts = 0;
  int64_t key_heads = 0, value_heads = 0, key_dim = 0, value_dim = 0;  // of recurrent layers; 0: there are none

  [[nodiscard]] bool recurrent() const { return key_heads > 0; }
  static Result<QwenForm> of(const Checkpoint& checkpoint, const boost::json::object& config);
  // Which value head stands at this place in a file: there they are dealt to the key heads one by one.
  [[nodiscard]] int64_t head_at(int64_t place) const {
    const int64_t of_each = value_heads / key_heads;
    return place % key_heads * of_each + place / key_heads;
  }
};

Status add_qwen_keys(const boost::json::object& config, const QwenForm& form, GgufKeys* keys);
// An error names a tensor that has no name there. Pictures are left out.
Result<std::vector<WrittenTensor>> written_qwen_tensors(const Checkpoint& checkpoint, const QwenForm& form,
                                                        const GgufRecipe& recipe);

}  // namespace paceline
