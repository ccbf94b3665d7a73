#include "cli/drafting.h"

#include <fmt/format.h>

#include "cli/console.h"
#include "cli/model_path.h"
#include "session/drafter.h"
#include "speculate/calibrate.h"
#include "speculate/ngram.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;

// Once per model, drafter, machine and build; later runs know.
constexpr double kCalibrationMs = 300;

}  // namespace

void add_draft_options(CLI::App& command, DraftOptions& options) {
  constexpr const char* kGroup = "Speed (never changes the text)";
  command
      .add_option("--draft", options.draft,
                  "Who guesses tokens ahead, for the model to check several at once: auto (the model's own drafter, "
                  "where it lies in the model's folder, beside it or in the local Hugging Face cache), ngram (what "
                  "followed the same words before), none, or a drafter's folder or org/name as for -m")
      ->group(kGroup)
      ->type_name("auto|ngram|none|DIR")
      ->capture_default_str();
  command
      .add_option("--draft-kind", options.kind,
                  "What the drafter must be: mtp (Gemma 4's assistants), or auto: as its config says")
      ->group(kGroup)
      ->check(CLI::IsMember({"auto", "mtp"}))
      ->type_name("auto|mtp")
      ->capture_default_str();
  command.add_option("--depth", options.depth, "Guesses per check; 0: none; default: by what is measured on the way")
      ->group(kGroup)
      ->check(CLI::Range(0, kMaxDraftTokens).description(""));
}

Status check_draft_options(const DraftOptions& options) {
  if (options.draft.empty()) return Error{"--draft wants auto, ngram, none or a drafter's folder"};
  if (options.kind == "mtp" && (options.draft == "ngram" || options.draft == "none")) {
    return Error{fmt::format("--draft-kind mtp wants a drafter's folder or auto, not --draft {}", options.draft)};
  }
  return Done{};
}

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
    return Error{fmt::format("--draft-kind mtp: {}", drafting->finding_)};
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

std::string Drafting::summary(const SpeculationCounters& c) const {
  if (proposer_ == nullptr) return "";
  return fmt::format(
      "draft {} · {} rounds, {} drafted, {} accepted · {:.2f} tokens per verify, accepted {:.0f} % of drafted and "
      "{:.0f} "
      "% of emitted · draft {}, verify {}, choose {}, commit {}\n",
      drafter_, c.rounds, c.drafted, c.accepted, c.tokens_per_round(), 100 * c.accepted_of_drafted(),
      100 * c.accepted_of_emitted(), time_text(c.draft_ms), time_text(c.verify_ms), time_text(c.choose_ms),
      time_text(c.commit_ms));
}

boost::json::object Drafting::json(const SpeculationCounters& c) const {
  boost::json::object object;
  object["draft"] = drafter_;
  if (fixed_depth_) object["depth"] = *fixed_depth_;
  object["rounds"] = c.rounds;
  object["drafted"] = c.drafted;
  object["accepted"] = c.accepted;
  object["drafted_by_position"] = boost::json::value_from(c.drafted_at);
  object["accepted_by_position"] = boost::json::value_from(c.accepted_at);
  object["tokens_per_verify"] = c.tokens_per_round();
  object["accepted_of_drafted"] = c.accepted_of_drafted();
  object["accepted_of_emitted"] = c.accepted_of_emitted();
  object["draft_ms"] = c.draft_ms;
  object["verify_ms"] = c.verify_ms;
  object["choose_ms"] = c.choose_ms;
  object["commit_ms"] = c.commit_ms;
  return object;
}

}  // namespace paceline
