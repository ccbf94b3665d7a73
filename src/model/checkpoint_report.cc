#include "model/checkpoint_report.h"

#include <fmt/format.h>

#include "model/gemma4/config_reader.h"
#include "model/gemma4/mtp_binding.h"
#include "model/gemma4/report.h"
#include "model/load.h"
#include "model/qwen/config_reader.h"
#include "model/qwen/report.h"

namespace paceline {
namespace {

// Said before weights are looked for.
Status check_known(const Checkpoint& opened) {
  if (is_assistant_config(opened.config_json()) || qwen::is_qwen_config(opened.config_json())) return Done{};
  const auto config = read_config(opened.config_json(), opened.generation_config_json());
  if (!config.ok()) return Error{fmt::format("{}: {}", opened.folder().string(), config.error().message)};
  return Done{};
}

Result<std::shared_ptr<const Checkpoint>> known_checkpoint(const std::filesystem::path& folder) {
  return Checkpoint::open(folder, [](const Checkpoint& opened) { return check_known(opened); });
}

Result<ModelReport> gemma4_report(const Checkpoint& checkpoint, ThreadPool& pool, Hashing hashing) {
  if (is_assistant_config(checkpoint.config_json())) {
    TRY_ASSIGN(const auto drafter, load_mtp(checkpoint.folder(), pool));
    return make_report(*drafter, checkpoint, hashing);
  }
  TRY_ASSIGN(const LoadedModel model, load_model(checkpoint.folder(), pool));
  return make_report(model, hashing);
}

}  // namespace

Result<std::string> checkpoint_report_text(const std::filesystem::path& folder, ThreadPool& pool, Hashing hashing) {
  TRY_ASSIGN(const auto checkpoint, known_checkpoint(folder));
  if (qwen::is_qwen_config(checkpoint->config_json())) {
    TRY_ASSIGN(const LoadedModel model, load_model(folder, pool));
    return qwen::report_text(model, hashing);
  }
  TRY_ASSIGN(const ModelReport report, gemma4_report(*checkpoint, pool, hashing));
  return report_text(report);
}

Result<std::string> checkpoint_report_json(const std::filesystem::path& folder, ThreadPool& pool, Hashing hashing,
                                           std::string_view kernels) {
  TRY_ASSIGN(const auto checkpoint, known_checkpoint(folder));
  if (qwen::is_qwen_config(checkpoint->config_json())) {
    TRY_ASSIGN(const LoadedModel model, load_model(folder, pool));
    return qwen::report_json(model, hashing, kernels);
  }
  TRY_ASSIGN(const ModelReport report, gemma4_report(*checkpoint, pool, hashing));
  return report_json(report, kernels);
}

}  // namespace paceline
