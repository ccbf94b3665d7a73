// What `-m` names → where it lies: a path, an id like org/name[:quant] in the local Hugging Face cache or LM Studio's
// folder, or ollama:NAME[:TAG] in Ollama's store. Never downloads.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace paceline {

// Where caches may be, first to be looked at first.
struct HubCaches {
  std::vector<std::filesystem::path> folders;
  std::vector<std::filesystem::path> lm_studio = {};  // org/name within
  std::vector<std::filesystem::path> ollama = {};     // manifests and blobs within

  // HF_HUB_CACHE, HF_HOME/hub, ~/.cache/huggingface/hub; ~/.lmstudio/models, ~/.cache/lm-studio/models; OLLAMA_MODELS,
  // ~/.ollama/models and where its service has it: those that the environment gives.
  static HubCaches from_environment();
};

// A folder, a GGUF file, or an Ollama manifest. The error says what was looked for, and where.
Result<std::filesystem::path> resolve_model(std::string_view argument, const HubCaches& caches);

// The snapshot that a cached model's refs/main points at; model: its folder in the cache.
Result<std::filesystem::path> main_snapshot(const std::filesystem::path& model);

}  // namespace paceline
