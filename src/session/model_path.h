// From what a person types after -m to a folder with a checkpoint.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"

namespace paceline {

// A folder, a GGUF file, org/name[:quant] or ollama:NAME (weights/hub_cache.h); or nothing: PACELINE_MODEL, then the
// model that ships with the program, or with the library where that is what runs.
Result<std::filesystem::path> find_model(const std::string& asked);

// The one that ships with the program, or with the library.
Result<std::filesystem::path> find_shipped_model();

// How a model is called that was asked for in such words and found in this folder: as it was asked for where that is
// no path, or as the folder is called.
std::string model_name(const std::string& asked, const std::filesystem::path& folder);

}  // namespace paceline
