// Names in a checkpoint → the text model's weights. Every shape and dtype is checked against the config, a missing
// tensor is named with the shape it should have, and one that belongs to nothing is an error.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "base/thread_pool.h"
#include "model/load.h"
#include "model/qwen/weights.h"
#include "model/tensor_binder.h"
#include "weights/checkpoint.h"

namespace paceline::qwen {

Result<std::shared_ptr<const QwenWeights>> bind_weights(std::shared_ptr<const Checkpoint> checkpoint, QwenConfig config,
                                                        ThreadPool& pool, const Progress& progress = {});

// One decoder layer under `prefix` ("model.layers.3.").
Status bind_layer(TensorBinder& binder, const std::string& prefix, const QwenConfig& config, const LayerConfig& layer,
                  LayerWeights* out);
// A norm of the residual stream, or of queries and keys, as it is multiplied with.
Status bind_norm(TensorBinder& binder, const std::string& name, int64_t width, const QwenConfig& config, Vector* out);

}  // namespace paceline::qwen
