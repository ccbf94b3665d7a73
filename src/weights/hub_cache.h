// What `-m` names → a folder: a path, or an id like org/name in the local Hugging Face cache. Never downloads.
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

  // HF_HUB_CACHE, HF_HOME/hub, ~/.cache/huggingface/hub: those that the environment gives.
  static HubCaches from_environment();
};

// The error says what was looked for, and where.
Result<std::filesystem::path> resolve_model(std::string_view argument, const HubCaches& caches);

}  // namespace paceline
