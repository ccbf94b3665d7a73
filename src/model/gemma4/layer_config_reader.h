// The part of config.json that differs from layer to layer.
#pragma once

#include "base/result.h"
#include "model/gemma4/config.h"
#include "weights/json_fields.h"

namespace paceline {

inline constexpr int64_t kMaxHeads = 1024;

// Whose keys and values the layers of the shared tail read.
enum class KvSource : uint8_t {
  own_layers,  // an earlier layer of the same model
  target,      // another model's: kv_layer is -1 there
};

// Fills config->layers; config->heads is set before.
Status read_layers(const JsonFields& text, KvSource source, Gemma4Config* config);

}  // namespace paceline
