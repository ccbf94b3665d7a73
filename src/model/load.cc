#include "model/load.h"

#include <fmt/format.h>

#include "model/config_reader.h"

namespace paceline {

Result<LoadedModel> load_model(const std::filesystem::path& folder, ThreadPool& pool, const Progress& progress) {
  LoadedModel model;
  const auto read = [&](const Checkpoint& opened) -> Status {
    auto config = read_config(opened.config_json(), opened.generation_config_json());
    if (!config.ok()) return Error{fmt::format("{}: {}", folder.string(), config.error().message)};
    model.config = std::move(*config);
    return Done{};
  };
  TRY_ASSIGN(model.checkpoint, Checkpoint::open(folder, read));
  auto weights = bind_text_weights(model.checkpoint, model.config, pool, progress);
  if (!weights.ok()) return Error{fmt::format("{}: {}", folder.string(), weights.error().message)};
  model.weights = *weights;
  return model;
}

}  // namespace paceline
