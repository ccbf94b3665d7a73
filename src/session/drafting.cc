#include "session/drafting.h"

#include <fmt/format.h>

#include <algorithm>

#include "session/drafted_by.h"
#include "session/lazy_drafter.h"
#include "session/model_path.h"
#include "session/own_drafter.h"
#include "speculate/calibrate.h"
#include "speculate/drafter_set.h"
#include "speculate/mtp/mtp_drafter.h"
#include "speculate/ngram/ngram_drafter.h"
#include "speculate/scripted/scripted_drafter.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;

// Once per model, drafter, machine and build; later runs know.
constexpr double kCalibrationMs = 300;

// Where a folder lies is for the log alone.
std::string without_paths(std::string text, const fs::path& target) {
  for (const fs::path& place : drafter_places(target, HubCaches::from_environment())) {
    const std::string before = place.parent_path().string() + "/";
    for (size_t at = text.find(before); at != std::string::npos; at = text.find(before)) text.erase(at, before.size());
  }
  return text;
}

bool may_be(const DraftOptions& options, DraftedBy kind) {
  return options.kind == "auto" || options.kind == drafted_by_name(kind);
}

}  // namespace

Result<std::unique_ptr<Drafting>> Drafting::make(const DraftOptions& options, const DraftTarget& target,
                                                 Machine& machine) {
  std::unique_ptr<Drafting> drafting(new Drafting());
  drafting->fixed_depth_ = options.depth;
  Drafters drafters;
  if (options.draft == "ngram") {
    drafting->use_ngram(drafters);
  } else if (options.draft == "auto") {
    TRY(drafting->find(options, target, machine, drafters));
  } else if (is_scripted(options.draft)) {
    TRY(drafting->use_script(options, target, machine, drafters));
  } else if (options.draft != "none") {
    TRY_ASSIGN(const fs::path place, find_model(options.draft));
    TRY_ASSIGN(const FoundDrafter found, FoundDrafter::load(place, target.forward, machine.pool(), machine.ops()));
    if (!may_be(options, found.kind()))
      return Error{fmt::format("a drafter of kind {} was asked for, and {} is {}", options.kind, place.string(),
                               drafted_by_name(found.kind()))};
    drafting->use(found, options.lazy, drafters);
  }
  if (drafters.empty()) return drafting;
  if (!options.depth) drafting->learn_costs(target, machine, drafters);
  const int32_t hidden = target.forward.config().hidden;
  drafting->drafter_ =
      drafters.size() == 1 ? std::move(drafters.front()) : std::make_unique<DrafterSet>(std::move(drafters), hidden);
  return drafting;
}

void Drafting::use(const FoundDrafter& found, bool lazy, Drafters& drafters) {
  parts_.push_back({found.kind(), found.folder()});
  if (lazy) {
    auto made = LazyDrafter::make(found);
    lazy_.push_back(made.get());
    drafters.push_back(std::move(made));
  } else {
    drafters.push_back(found.drafter());
  }
}

void Drafting::use_ngram(Drafters& drafters) {
  parts_.push_back({DraftedBy::ngram, {}});
  drafters.push_back(std::make_unique<NgramDrafter>());
}

// What it costs is what the model's own MTP drafter costs: the one that is found, or one as random as the model is.
Status Drafting::use_script(const DraftOptions& options, const DraftTarget& target, Machine& machine,
                            Drafters& drafters) {
  TRY_ASSIGN(std::vector<double> chances, read_script(options.draft));
  Forward& forward = target.forward;
  if (as_gemma4(forward.weights()) == nullptr) return Error{"--draft scripted is for Gemma's MTP drafters"};
  std::unique_ptr<Drafter> pays;
  if (!target.random.shape.empty()) {
    TRY_ASSIGN(const auto weights, make_random_mtp_weights(target.random, machine.pool()));
    pays = std::make_unique<MtpDrafter>(
        std::make_unique<MtpForward>(weights, as_gemma4(forward.weights()), machine.ops(), forward.precision()));
  } else {
    std::string passed_by;
    auto found = FoundDrafter::find(target.folder, forward, machine.pool(), machine.ops(), &passed_by);
    const auto mtp = std::find_if(found.begin(), found.end(), [](const auto& one) { return one.mtp() != nullptr; });
    if (mtp == found.end())
      return Error{fmt::format("no MTP drafter found for {}{}", target.folder.string(), passed_by)};
    pays = mtp->drafter();
  }
  parts_.push_back({DraftedBy::mtp, "scripted"});
  drafters.push_back(std::make_unique<ScriptedDrafter>(
      std::move(pays), machine.ops(), ScriptedDrafter::Script{std::move(chances), forward.config().vocab}));
  return Done{};
}

// A folder that is no drafter of this model is passed by, but not in silence. What followed the same words before costs
// nothing to ask, beside all others; a fixed depth is the first one's.
Status Drafting::find(const DraftOptions& options, const DraftTarget& target, Machine& machine, Drafters& drafters) {
  std::string passed_by;
  auto own = make_own_drafter(target.forward, machine.pool());
  if (!own.ok()) passed_by = fmt::format("; {}", own.error().message);
  if (own.ok() && *own != nullptr && may_be(options, DraftedBy::mtp)) {
    parts_.push_back({DraftedBy::mtp, target.folder});
    drafters.push_back(std::move(*own));
  }
  std::vector<FoundDrafter> all;
  // Beside the tokenizer of a random model lies another model's.
  if (target.random.shape.empty())
    all = FoundDrafter::find(target.folder, target.forward, machine.pool(), machine.ops(), &passed_by);
  for (const FoundDrafter& found : all)
    if (may_be(options, found.kind())) use(found, options.lazy, drafters);
  if (drafters.empty()) {
    finding_ = fmt::format("no drafter found for {}, beside it or in the local Hugging Face cache{}",
                           target.folder.string(), passed_by);
    if (!passed_by.empty()) refused_ = without_paths(passed_by.substr(2), target.folder);
    if (options.kind != "auto")
      return Error{fmt::format("a drafter of kind {} was asked for, and {}", options.kind, finding_)};
  } else {
    finding_ = fmt::format("drafter found: {}", name());
  }
  if (options.kind == "auto") use_ngram(drafters);
  return Done{};
}

std::string Drafting::name() const {
  std::string all;
  for (const Part& part : parts_)
    if (!part.folder.empty()) all += fmt::format("{}{}", all.empty() ? "" : ", ", part.folder.string());
  if (!all.empty()) return all;
  return parts_.empty() ? "none" : "ngram";
}

void Drafting::learn_costs(const DraftTarget& target, const Machine& machine, const Drafters& drafters) {
  costs_.resize(drafters.size());
  // What is made at random is no model that comes again.
  if (!target.random.shape.empty()) {
    std::vector<TimedDrafter> all;
    for (size_t i = 0; i < drafters.size(); ++i) all.push_back({drafters[i].get(), &costs_[i]});
    return calibrate(target.forward, all, kCalibrationMs);
  }
  const std::string model = checkpoint_identity(target.folder);
  const std::string device = machine.identity() + ", KV " + kv_formats_name(target.forward.kv_layout().formats);
  std::vector<TimedDrafter> unknown;
  for (size_t i = 0; i < drafters.size(); ++i) {
    const fs::path& folder = parts_[i].folder;
    cost_keys_.push_back({model, folder.empty() ? "ngram" : checkpoint_identity(folder), device, build_identity()});
    if (const auto kept = CostStore::in_user_cache().load(cost_keys_.back())) {
      costs_[i] = *kept;
    } else {
      // Timing a drafter that waits to be asked would be asking it: steps are timed, and the rest is learnt.
      const bool waits = dynamic_cast<const LazyDrafter*>(drafters[i].get()) != nullptr;
      unknown.push_back({waits ? nullptr : drafters[i].get(), &costs_[i]});
    }
  }
  calibrate(target.forward, unknown, kCalibrationMs);
}

void Drafting::let_lazy(bool may) {
  for (LazyDrafter* drafter : lazy_) drafter->let(may);
}

bool Drafting::has_lazy_loaded() const {
  return std::any_of(lazy_.begin(), lazy_.end(), [](const LazyDrafter* drafter) { return drafter->loaded(); });
}

double Drafting::plain_ms(int32_t context) const {
  if (costs_.empty()) return 0;
  const auto& here = costs_.front().of_class(StepCosts::context_class(context));
  return here && here->step.samples(1) >= kFirstPlainRounds ? here->step.ms(1) : 0;
}

void Drafting::keep_costs() const {
  for (size_t i = 0; i < cost_keys_.size(); ++i) (void)CostStore::in_user_cache().save(cost_keys_[i], costs_[i]);
}

}  // namespace paceline
