#include "model/load.h"

#include "model/gemma4/load_gemma4.h"
#include "model/qwen/config_reader.h"
#include "model/qwen/load_qwen.h"

namespace paceline {

// config.json's model_type says whose a checkpoint is.
Result<LoadedModel> load_model(const std::filesystem::path& folder, ThreadPool& pool, const Progress& progress) {
  bool is_qwen = false;
  // Only to see whose it is: reading ends where the weights would begin.
  const auto look = [&](const Checkpoint& opened) -> Status {
    is_qwen = qwen::is_qwen_config(opened.config_json());
    return Error{""};
  };
  (void)Checkpoint::open(folder, look);
  if (is_qwen) return qwen::load_qwen(folder, pool, progress);
  TRY_ASSIGN(const LoadedGemma4 loaded, load_gemma4(folder, pool, progress));
  return LoadedModel{loaded.config, loaded.weights, loaded.checkpoint};
}

}  // namespace paceline
