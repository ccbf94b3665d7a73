// A checkpoint folder → everything the text model needs.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "base/thread_pool.h"
#include "model/config.h"
#include "model/model_weights.h"
#include "weights/checkpoint.h"

namespace paceline {

// Called with how many of how many steps are done.
using Progress = std::function<void(int done, int total)>;

struct LoadedModel {
  ModelConfig config;
  std::shared_ptr<const ModelWeights> weights;
  std::shared_ptr<const Checkpoint> checkpoint;  // for the tokenizer's files, the vision tower, hashes
};

Result<LoadedModel> load_model(const std::filesystem::path& folder, ThreadPool& pool, const Progress& progress = {});

}  // namespace paceline
