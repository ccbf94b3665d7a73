// What GGUF files of an architecture say, in the words of a Hugging Face folder: config.json, generation_config.json,
// and the tensors under the names that families bind. One function for each kind of file.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "weights/gguf/gguf_files.h"
#include "weights/gguf/gguf_tensors.h"
#include "weights/gguf/gguf_vocabulary.h"

namespace paceline {

// A model's own files, and those of its vision side, which may be the same; none: it takes text alone.
struct GgufParts {
  const GgufFiles* model = nullptr;
  const GgufFiles* vision = nullptr;
};

struct GgufConfigs {
  boost::json::object config;
  boost::json::object generation;
};

// gemma4; gemma4-assistant, its drafter; clip, the vision side beside it, and where it is within the model's own file.
Result<GgufConfigs> gemma4_gguf_configs(const GgufParts& parts, const GgufVocabulary& vocabulary);
Status add_gemma4_tensors(const GgufFiles& files, GgufTensors* out);
Result<boost::json::object> gemma4_assistant_gguf_config(const GgufFiles& files);
Status add_gemma4_assistant_tensors(const GgufFiles& files, GgufTensors* out);
// The other way round: the name in GGUF of a tensor of gemma4, gemma4_assistant or their vision side, by Hugging Face's
// ("model.layers.0.…", "model.vision_tower.…"), and how its numbers lie there. Empty: it has none.
std::string gemma4_gguf_name(std::string_view hub);
struct GgufVisionName {
  enum class Order : uint8_t { same, channels_first, axes_first };
  std::string name;
  Order order = Order::same;
};
GgufVisionName gemma4_vision_gguf_name(std::string_view hub);
bool has_gemma4_vision(const GgufFiles& files);
Result<boost::json::object> gemma4_vision_gguf_config(const GgufFiles& files);
Status add_gemma4_vision_tensors(const GgufFiles& files, GgufTensors* out);

// qwen3, qwen3moe; qwen35 and qwen35moe, which keep their own drafter in layers behind the others.
struct QwenGgufLayers {
  int64_t text = 0, drafter = 0;
};
Result<QwenGgufLayers> qwen_gguf_layers(const GgufFiles& files);
Result<GgufConfigs> qwen_gguf_configs(const GgufFiles& files, const GgufVocabulary& vocabulary);
Status add_qwen_tensors(const GgufFiles& files, GgufTensors* out);
// The other way round, as gemma4_gguf_name. recurrent: of qwen35 and qwen35moe.
std::string qwen_gguf_name(std::string_view hub, const QwenGgufLayers& layers, bool recurrent);

// What every model's file may say of how it is sampled: generation_config.json without the ids that stop.
Result<boost::json::object> gguf_sampling(const GgufMetadata& metadata);
// The rows of token_embd.weight.
Result<int64_t> gguf_vocabulary_rows(const GgufFiles& files);

// blk.7.attn_q.weight: the layer, and "attn_q.weight". Layer -1: another name.
struct GgufLayerName {
  int64_t layer = -1;
  std::string_view part;
};
GgufLayerName gguf_layer_name(std::string_view name, std::string_view before);

}  // namespace paceline
