#include "model/load.h"

#include "model/gemma4/load_gemma4.h"
#include "model/qwen/config_reader.h"
#include "model/qwen/load_qwen.h"

namespace paceline {

// config.json's model_type says whose a checkpoint is.
Result<LoadedModel> load_model(const std::filesystem::path& folder, ThreadPool& pool, const Progress& progress) {
  constexpr size_t kMostConfigBytes = size_t{1} << 20;
  const auto config = read_file(folder / "config.json", kMostConfigBytes);
  if (config.ok() && qwen::is_qwen_config(*config)) return qwen::load_qwen(folder, pool, progress);
  TRY_ASSIGN(const LoadedGemma4 loaded, load_gemma4(folder, pool, progress));
  return LoadedModel{loaded.config, loaded.weights, loaded.checkpoint};
}

}  // namespace paceline
