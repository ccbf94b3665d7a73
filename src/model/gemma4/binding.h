// Names in a checkpoint → the text model's weights. Every shape and dtype is checked against the config, a missing
// tensor is named with the shape it should have, and one that belongs to nothing is an error.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/thread_pool.h"
#include "model/gemma4/weights.h"
#include "model/load.h"
#include "model/tensor_binder.h"
#include "weights/checkpoint.h"

namespace paceline {

Result<std::shared_ptr<const Gemma4Weights>> bind_gemma4_weights(std::shared_ptr<const Checkpoint> checkpoint,
                                                                 Gemma4Config config, ThreadPool& pool,
                                                                 const Progress& progress = {});

// One decoder layer under `prefix` ("model.layers.3."); the drafters' layers have the same names. Keys and values are
// left out where layer.kv_layer is another layer.
struct LayerShape {
  const Gemma4Config& config;
  int32_t layer = 0;
};
Status bind_layer(TensorBinder& binder, const std::string& prefix, const LayerShape& shape, LayerWeights* out);

}  // namespace paceline
