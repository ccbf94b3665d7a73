#include "model/qwen/load_qwen.h"

#include <fmt/format.h>

#include "model/qwen/binding.h"
#include "model/qwen/config_reader.h"

namespace paceline::qwen {

Result<LoadedModel> load_qwen(const std::filesystem::path& folder, ThreadPool& pool, const Progress& progress) {
  QwenConfig config;
  const auto read = [&](const Checkpoint& opened) -> Status {
    auto found = read_config(opened.config_json(), opened.generation_config_json());
    if (!found.ok()) return Error{fmt::format("{}: {}", folder.string(), found.error().message)};
    config = std::move(*found);
    return Done{};
  };
  TRY_ASSIGN(const auto checkpoint, Checkpoint::open(folder, read));
  auto weights = bind_weights(checkpoint, config, pool, progress);
  if (!weights.ok()) return Error{fmt::format("{}: {}", folder.string(), weights.error().message)};
  return LoadedModel{config, *weights, checkpoint};
}

}  // namespace paceline::qwen
