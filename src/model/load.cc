#include "model/load.h"

#include "model/gemma4/load_gemma4.h"

namespace paceline {

// Another family is another reader: config.json's model_type says whose a checkpoint is.
Result<LoadedModel> load_model(const std::filesystem::path& folder, ThreadPool& pool, const Progress& progress) {
  TRY_ASSIGN(const LoadedGemma4 loaded, load_gemma4(folder, pool, progress));
  return LoadedModel{loaded.config, loaded.weights, loaded.checkpoint};
}

}  // namespace paceline
