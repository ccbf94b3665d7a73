#include "session/drafting.h"

#include <fmt/format.h>

#include "session/drafter.h"
#include "session/model_path.h"
#include "speculate/calibrate.h"
#include "speculate/ngram.h"

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
  std::unique_ptr<Proposer> single;
  if (options.draft == "ngram") {
    single = std::make_unique<NgramProposer>();
    drafting->proposer_ = std::make_unique<SeparateProposers>([] { return std::make_unique<NgramProposer>(); });
    drafting->drafter_ = "ngram";
  } else if (options.draft == "auto") {
    single = drafting->find(folder, target, machine);
  } else if (options.draft != "none") {
    TRY_ASSIGN(const fs::path place, find_model(options.draft));
    TRY_ASSIGN(const Drafter drafter, Drafter::load(place, target, machine.pool(), machine.ops()));
    single = drafting->use(drafter);
  }
  if (options.kind == "mtp" && single == nullptr) {
    return Error{fmt::format("a drafter of kind mtp was asked for, and {}", drafting->finding_)};
  }
  if (single != nullptr && !options.depth) drafting->learn_costs(folder, target, *single, machine);
  return drafting;
}

std::unique_ptr<Proposer> Drafting::use(const Drafter& drafter) {
  drafter_ = drafter.folder().string();
  proposer_ = drafter.batch_proposer();
  return drafter.proposer();
}

// A folder that is no drafter of this model is passed by, but not in silence.
std::unique_ptr<Proposer> Drafting::find(const fs::path& target_folder, const Forward& target, Machine& machine) {
  std::string passed_by;
  const auto found = Drafter::find(target_folder, target, machine.pool(), machine.ops(), &passed_by);
  if (!found) {
    finding_ = fmt::format("no drafter found for {}, beside it or in the local Hugging Face cache{}",
                           target_folder.string(), passed_by);
    return nullptr;
  }
  finding_ = fmt::format("drafter found: {}", found->folder().string());
  return use(*found);
}

void Drafting::learn_costs(const fs::path& target_folder, Forward& target, Proposer& proposer, const Machine& machine) {
  const bool has_folder = drafter_ != "ngram";
  cost_key_ = CostKey{checkpoint_identity(target_folder), has_folder ? checkpoint_identity(drafter_) : drafter_,
                      machine.identity(), build_identity()};
  if (const auto kept = CostStore::in_user_cache().load(*cost_key_)) {
    costs_ = *kept;
  } else {
    calibrate(target, &proposer, costs_, kCalibrationMs);
  }
}

void Drafting::keep_costs() const {
  if (cost_key_) (void)CostStore::in_user_cache().save(*cost_key_, costs_);
}

}  // namespace paceline
