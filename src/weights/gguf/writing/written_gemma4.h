// Gemma 4, its drafter and its vision side in the words of GGUF: tensors under its names, and the keys that describe
// them.
#pragma once

#include <boost/json/object.hpp>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "weights/checkpoint.h"
#include "weights/gguf/gguf_words.h"
#include "weights/gguf/writing/gguf_keys.h"

namespace paceline {

// A checkpoint's tensors by their names in GGUF.
struct WrittenNames {
  struct Vision {
    const TensorView* tensor = nullptr;
    GgufVisionName::Order order = GgufVisionName::Order::same;
  };
  std::map<std::string, const TensorView*> text;
  std::map<std::string, Vision> vision;

  // An error names a tensor that has no name there. Other modalities are left out.
  static Result<WrittenNames> of(const Checkpoint& checkpoint);
  [[nodiscard]] const TensorView* find(const std::string& name) const;
};

// config.json: the layers that it has.
Result<int64_t> written_layers(const boost::json::object& config);

// "gemma4" or "gemma4-assistant", and everything behind that prefix.
Status add_gemma4_keys(const boost::json::object& config, const WrittenNames& names, GgufKeys* keys);
// "clip.…", of a file beside the model's.
Status add_gemma4_vision_keys(const boost::json::object& config, GgufKeys* keys);

// rope_freqs.weight: 1 for the pairs that turn in global layers, 1e30 for the rest.
Result<std::vector<float>> written_rope_factors(const boost::json::object& config, const WrittenNames& names);

// A vision tensor's numbers as they lie in a file: patches with the channel first, positions with the axis first.
std::vector<float> in_gguf_order(const std::vector<float>& values, const std::vector<int64_t>& shape,
                                 GgufVisionName::Order order);

}  // namespace paceline
