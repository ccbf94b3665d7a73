#include "cli/serve_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "cli/console.h"
#include "cli/model_path.h"
#include "model/mtp_binding.h"
#include "model/place.h"
#include "session/drafter.h"
#include "speculate/calibrate.h"
#include "speculate/mtp_proposer.h"
#include "speculate/ngram.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;

constexpr double kCalibrationMs = 300;

}  // namespace

size_t automatic_kv_bytes() {
  constexpr size_t kLeast = size_t{256} << 20, kMost = size_t{64} << 30;
  std::ifstream file("/proc/meminfo");
  size_t kilobytes = 0;
  for (std::string word; file >> word;) {
    if (word == "MemAvailable:" && file >> kilobytes) break;
  }
  return std::clamp(kilobytes * 1024 / 2, kLeast, kMost);
}

Result<std::unique_ptr<ServeEngine>> ServeEngine::make(const ServeEngineOptions& options, StepObserver& observer,
                                                       const std::function<void(const std::string&)>& tell) {
  std::unique_ptr<ServeEngine> made(new ServeEngine());
  TRY(made->load(options));
  TRY(made->add_drafter(options.draft, tell));
  EngineSettings& settings = made->description_.settings;
  settings = options.engine;
  if (settings.kv_bytes == 0) settings.kv_bytes = automatic_kv_bytes();
  settings.fixed_depth = options.draft.depth;
  if (made->proposer_ != nullptr && !settings.fixed_depth) made->learn_costs();
  const EngineParts parts{.forward = &*made->forward_,
                          .pool = &made->machine_->pool(),
                          .proposer = made->proposer_.get(),
                          .costs = &made->costs_,
                          .observer = &observer};
  made->engine_ = std::make_unique<Engine>(parts, settings);
  tell(fmt::format("{} · {} · {} threads · KV {} · drafter {}", made->folder_.string(), made->machine_->kernels_name(),
                   made->machine_->threads(), bytes_text(static_cast<double>(settings.kv_bytes)),
                   made->description_.drafter));
  return made;
}

Status ServeEngine::load(const ServeEngineOptions& options) {
  TRY_ASSIGN(folder_, find_model(options.run.model));
  TRY_ASSIGN(machine_, Machine::make(options.run.threads));
  TRY_ASSIGN(TextModel text, load_text_model(folder_, machine_->pool()));
  text.loaded.weights = place_weights(text.loaded.weights, machine_->ops());
  text_.emplace(std::move(text));
  forward_.emplace(text_->loaded.weights, machine_->ops(), options.run.precision);
  description_.kernels = machine_->kernels_name();
  description_.precision = options.run.precision == Precision::f32 ? "f32" : "bf16";
  description_.threads = machine_->threads();
  return Done{};
}

Status ServeEngine::add_drafter(const DraftOptions& options, const std::function<void(const std::string&)>& tell) {
  if (options.draft == "none") return Done{};
  if (options.draft == "ngram") {
    proposer_ = std::make_unique<SeparateProposers>([] { return std::make_unique<NgramProposer>(); });
    description_.drafter = description_.drafter_kind = "ngram";
    return Done{};
  }
  if (options.draft != "auto") {
    TRY_ASSIGN(const fs::path folder, find_model(options.draft));
    return use_drafter(folder);
  }
  for (const fs::path& place : drafter_places(folder_, HubCaches::from_environment())) {
    std::error_code error;
    if (!fs::exists(place / "config.json", error)) continue;
    const Status used = use_drafter(place);
    if (used.ok()) return Done{};
    tell(fmt::format("passed by: {}", used.error().message));
  }
  return Done{};
}

Status ServeEngine::use_drafter(const fs::path& folder) {
  TRY_ASSIGN(auto weights, load_mtp(folder, machine_->pool()));
  if (const Status fits = check_fits(weights->config, forward_->weights().config); !fits.ok()) {
    return Error{fmt::format("{}: does not fit the model: {}", folder.string(), fits.error().message)};
  }
  proposer_ = std::make_unique<MtpBatchProposer>(std::make_unique<MtpDrafter>(
      std::move(weights), forward_->shared_weights(), machine_->ops(), forward_->precision()));
  description_.drafter = folder.filename().string();
  description_.drafter_kind = "mtp";
  description_.drafter_folder = folder;
  return Done{};
}

// As kept from an earlier run; else timed now, with a drafter of its own.
void ServeEngine::learn_costs() {
  const fs::path& drafter = description_.drafter_folder;
  cost_key_ = CostKey{checkpoint_identity(folder_), drafter.empty() ? "ngram" : checkpoint_identity(drafter),
                      machine_->identity(), build_identity()};
  if (const auto kept = CostStore::in_user_cache().load(*cost_key_)) {
    costs_ = *kept;
    return;
  }
  std::unique_ptr<Proposer> timed = std::make_unique<NgramProposer>();
  if (!drafter.empty()) {
    auto loaded = load_drafter(drafter, *forward_, machine_->pool(), machine_->ops());
    if (!loaded.ok()) return;
    timed = std::move(*loaded);
  }
  calibrate(*forward_, timed.get(), costs_, kCalibrationMs);
}

void ServeEngine::keep_costs() const {
  if (cost_key_) (void)CostStore::in_user_cache().save(*cost_key_, costs_);
}

}  // namespace paceline
