// From what a person types after -m to a folder with a checkpoint.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"

namespace paceline {

// A folder; or org/name, found in the local Hugging Face cache; or nothing: PACELINE_MODEL, then the model that
// ships with the program.
Result<std::filesystem::path> find_model(const std::string& asked);

}  // namespace paceline
