#include "model/gemma4/load_gemma4.h"

#include <fmt/format.h>

#include "model/gemma4/binding.h"
#include "model/gemma4/config_reader.h"

namespace paceline {

Result<LoadedGemma4> load_gemma4(const std::filesystem::path& folder, ThreadPool& pool, const Progress& progress) {
  LoadedGemma4 model;
  const auto read = [&](const Checkpoint& opened) -> Status {
    auto config = read_config(opened.config_json(), opened.generation_config_json());
    if (!config.ok()) return Error{fmt::format("{}: {}", folder.string(), config.error().message)};
    model.config = std::move(*config);
    return Done{};
  };
  TRY_ASSIGN(model.checkpoint, Checkpoint::open(folder, read));
  auto weights = bind_gemma4_weights(model.checkpoint, model.config, pool, progress);
  if (!weights.ok()) return Error{fmt::format("{}: {}", folder.string(), weights.error().message)};
  model.weights = *weights;
  return model;
}

}  // namespace paceline
