#include "cli/serve_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "cli/console.h"
#include "cli/model_path.h"
#include "engine/schedule.h"
#include "model/backend_limits.h"
#include "model/place.h"

namespace paceline {
namespace fs = std::filesystem;

size_t automatic_kv_bytes() {
  constexpr size_t kLeast = size_t{256} << 20, kMost = size_t{64} << 30;
  std::ifstream file("/proc/meminfo");
  size_t kilobytes = 0;
  for (std::string word; file >> word;) {
    if (word == "MemAvailable:" && file >> kilobytes) break;
  }
  return std::clamp(kilobytes * 1024 / 2, kLeast, kMost);
}

Status check_kv_bytes(size_t bytes, const Forward& forward) {
  Request smallest;
  smallest.prompt = {0};
  smallest.max_tokens = 1;
  smallest.context = 2;
  const size_t least =
      Schedule::accept(std::move(smallest), forward.kv_layout(), forward.weights().config)->bytes_per_choice;
  if (bytes >= least) return Done{};
  return Error{
      fmt::format("--kv-bytes: expected at least {}, which the smallest request takes; found {}", least, bytes)};
}

Result<std::unique_ptr<ServeEngine>> ServeEngine::make(const ServeEngineOptions& options, StepObserver& observer,
                                                       const std::function<void(const std::string&)>& tell) {
  std::unique_ptr<ServeEngine> made(new ServeEngine());
  TRY(made->load(options));
  TRY(made->add_drafter(options.draft, tell));
  made->add_vision(options.run.precision, tell);
  EngineSettings& settings = made->description_.settings;
  settings = options.engine;
  // A device has memory of its own; a tenth stays for the rows of steps.
  const size_t on_device = made->machine_->ops().free_bytes() / 10 * 9;
  if (settings.kv_bytes == 0) settings.kv_bytes = on_device > 0 ? on_device : automatic_kv_bytes();
  TRY(check_kv_bytes(settings.kv_bytes, *made->forward_));
  settings.fixed_depth = options.draft.depth;
  const EngineParts parts{.forward = &*made->forward_,
                          .pool = &made->machine_->pool(),
                          .proposer = made->drafting_->proposer(),
                          .costs = &made->drafting_->costs(),
                          .observer = &observer,
                          .vision = made->vision_ != nullptr ? &made->vision_->forward() : nullptr};
  made->engine_ = std::make_unique<Engine>(parts, settings);
  tell(fmt::format("{} · {} · {} threads · KV {} · drafter {}", made->folder_.string(), made->machine_->kernels_name(),
                   made->machine_->threads(), bytes_text(static_cast<double>(settings.kv_bytes)),
                   made->description_.drafter));
  return made;
}

Status ServeEngine::load(const ServeEngineOptions& options) {
  TRY_ASSIGN(folder_, find_model(options.run.model));
  TRY_ASSIGN(machine_, Machine::make({.threads = options.run.threads, .device = options.run.device}));
  TRY_ASSIGN(TextModel text, load_text_model(folder_, machine_->pool()));
  TRY(check_limits(*text.loaded.weights, machine_->ops().limits()));
  text.loaded.weights = place_weights(text.loaded.weights, machine_->ops());
  TRY(machine_->ops().wait());
  text_.emplace(std::move(text));
  forward_.emplace(text_->loaded.weights, machine_->ops(), options.run.precision);
  description_.kernels = machine_->kernels_name();
  description_.precision = options.run.precision == Precision::f32 ? "f32" : "bf16";
  description_.threads = machine_->threads();
  return Done{};
}

Status ServeEngine::add_drafter(const DraftOptions& options, const std::function<void(const std::string&)>& tell) {
  TRY_ASSIGN(drafting_, Drafting::make(options, folder_, *forward_, *machine_));
  if (!drafting_->finding().empty()) tell(drafting_->finding());
  const std::string& drafter = drafting_->drafter();
  description_.drafter_kind = drafter == "none" || drafter == "ngram" ? drafter : "mtp";
  if (description_.drafter_kind == "mtp") description_.drafter_folder = drafter;
  description_.drafter = description_.drafter_kind == "mtp" ? fs::path(drafter).filename().string() : drafter;
  return Done{};
}

// One whose vision side cannot be read serves text all the same.
void ServeEngine::add_vision(Precision precision, const std::function<void(const std::string&)>& tell) {
  if (text_->loaded.config.ids.image < 0) return;
  auto vision = Vision::load(text_->loaded, precision, machine_->pool(), machine_->ops());
  if (vision.ok()) {
    vision_ = std::move(*vision);
  } else {
    tell(fmt::format("no pictures: {}", vision.error().message));
  }
}

}  // namespace paceline
