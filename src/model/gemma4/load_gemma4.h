// A checkpoint of this family → config and weights.
#pragma once

#include <filesystem>
#include <memory>

#include "base/result.h"
#include "base/thread_pool.h"
#include "model/gemma4/weights.h"
#include "model/load.h"

namespace paceline {

struct LoadedGemma4 {
  Gemma4Config config;
  std::shared_ptr<const Gemma4Weights> weights;
  std::shared_ptr<const Checkpoint> checkpoint;
};

Result<LoadedGemma4> load_gemma4(const std::filesystem::path& folder, ThreadPool& pool, const Progress& progress = {});

}  // namespace paceline
