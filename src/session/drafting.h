// Who drafts for a model, found and timed.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "model/forward.h"
#include "session/cost_store.h"
#include "session/found_drafter.h"
#include "session/machine.h"
#include "speculate/drafter.h"
#include "speculate/step_costs.h"

namespace paceline {

struct DraftOptions {
  std::string draft = "auto";    // auto, ngram, none, or a drafter's folder or org/name
  std::string kind = "auto";     // what it must be: auto or mtp
  std::optional<int32_t> depth;  // none: chosen round by round
};

// Owns who drafts and who says how deep.
class Drafting {
 public:
  // For a target that runs on the machine and was loaded from `folder`. An error says what is wrong with the drafter.
  static Result<std::unique_ptr<Drafting>> make(const DraftOptions& options, const std::filesystem::path& folder,
                                                Forward& target, Machine& machine);

  // None: nobody drafts.
  [[nodiscard]] Drafter* drafter() const { return drafter_.get(); }
  [[nodiscard]] StepCosts& costs() { return costs_; }
  [[nodiscard]] std::optional<int32_t> fixed_depth() const { return fixed_depth_; }
  // ngram, none or a folder.
  [[nodiscard]] const std::string& name() const { return name_; }
  // Who was found where the options left it open; "": they did not.
  [[nodiscard]] const std::string& finding() const { return finding_; }
  // For the next run. Where nothing can be kept, that run times anew.
  void keep_costs() const;

 private:
  Drafting() = default;
  void use(const FoundDrafter& found);
  void find(const std::filesystem::path& target_folder, const Forward& target, Machine& machine);
  void learn_costs(const std::filesystem::path& target_folder, Forward& target, const Machine& machine);

  std::string name_ = "none";
  std::string finding_;
  std::optional<int32_t> fixed_depth_;
  StepCosts costs_;
  std::optional<CostKey> cost_key_;
  std::unique_ptr<Drafter> drafter_;
};

}  // namespace paceline
