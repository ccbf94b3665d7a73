// A checkpoint folder of the Qwen family → its text model.
#pragma once

#include <filesystem>

#include "model/load.h"

namespace paceline::qwen {

Result<LoadedModel> load_qwen(const std::filesystem::path& folder, ThreadPool& pool, const Progress& progress);

}  // namespace paceline::qwen
