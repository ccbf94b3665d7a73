#include "session/drafting.h"

#include <fmt/format.h>

#include "session/found_drafter.h"
#include "session/model_path.h"
#include "session/own_drafter.h"
#include "speculate/calibrate.h"
#include "speculate/ngram/ngram_drafter.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;

// Once per model, drafter, machine and build; later runs know.
constexpr double kCalibrationMs = 300;

}  // namespace

Result<std::unique_ptr<Drafting>> Drafting::make(const DraftOptions& options, const fs::path& folder, Forward& target,
                                                 Machine& machine) {
  std::unique_ptr<Drafting> drafting(new Drafting());
  drafting->fixed_depth_ = options.depth;
  if (options.draft == "ngram") {
    drafting->drafter_ = std::make_unique<NgramDrafter>();
    drafting->name_ = "ngram";
  } else if (options.draft == "auto") {
    drafting->find(folder, target, machine);
  } else if (options.draft != "none") {
    TRY_ASSIGN(const fs::path place, find_model(options.draft));
    TRY_ASSIGN(const FoundDrafter found, FoundDrafter::load(place, target, machine.pool(), machine.ops()));
    drafting->use(found);
  }
  if (options.kind == "mtp" && drafting->drafter_ == nullptr) {
    return Error{fmt::format("a drafter of kind mtp was asked for, and {}", drafting->finding_)};
  }
  if (drafting->drafter_ != nullptr && !options.depth) drafting->learn_costs(folder, target, machine);
  return drafting;
}

void Drafting::use(const FoundDrafter& found) {
  name_ = found.folder().string();
  drafter_ = found.drafter();
}

// A folder that is no drafter of this model is passed by, but not in silence.
void Drafting::find(const fs::path& target_folder, const Forward& target, Machine& machine) {
  std::string passed_by;
  auto own = make_own_drafter(target, machine.pool());
  if (own.ok() && *own != nullptr) {
    name_ = target_folder.string();
    finding_ = "drafter found: the model's own";
    drafter_ = std::move(*own);
    return;
  }
  if (!own.ok()) passed_by = fmt::format("; {}", own.error().message);
  const auto found = FoundDrafter::find(target_folder, target, machine.pool(), machine.ops(), &passed_by);
  if (!found) {
    finding_ = fmt::format("no drafter found for {}, beside it or in the local Hugging Face cache{}",
                           target_folder.string(), passed_by);
    return;
  }
  finding_ = fmt::format("drafter found: {}", found->folder().string());
  use(*found);
}

void Drafting::learn_costs(const fs::path& target_folder, Forward& target, const Machine& machine) {
  const bool has_folder = name_ != "ngram";
  cost_key_ = CostKey{checkpoint_identity(target_folder), has_folder ? checkpoint_identity(name_) : name_,
                      machine.identity() + ", KV " + kv_formats_name(target.kv_layout().formats), build_identity()};
  if (const auto kept = CostStore::in_user_cache().load(*cost_key_)) {
    costs_ = *kept;
  } else {
    calibrate(target, drafter_.get(), costs_, kCalibrationMs);
  }
}

void Drafting::keep_costs() const {
  if (cost_key_) (void)CostStore::in_user_cache().save(*cost_key_, costs_);
}

}  // namespace paceline
