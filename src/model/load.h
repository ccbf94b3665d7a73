// A checkpoint folder → everything the text model needs.
#pragma once

#include <filesystem>
#include <memory>

#include "model/binding.h"
#include "model/config.h"
#include "model/weights.h"
#include "weights/checkpoint.h"

namespace paceline {

struct LoadedModel {
  ModelConfig config;
  std::shared_ptr<const TextWeights> weights;
  std::shared_ptr<const Checkpoint> checkpoint;  // for the tokenizer's files, the vision tower, hashes
};

Result<LoadedModel> load_model(const std::filesystem::path& folder, ThreadPool& pool, const Progress& progress = {});

}  // namespace paceline
