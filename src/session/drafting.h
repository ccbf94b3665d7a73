// Who drafts for a model, found and timed.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/forward.h"
#include "session/cost_store.h"
#include "session/found_drafter.h"
#include "session/machine.h"
#include "session/random_model.h"
#include "speculate/drafter.h"
#include "speculate/step_costs.h"

namespace paceline {

class LazyDrafter;

struct DraftOptions {
  // auto, ngram, none, a drafter's folder or org/name; or scripted:CHANCES, for measurements (scripted_drafter.h)
  std::string draft = "auto";
  std::string kind = "auto";     // what it must be: auto, mtp or dflash
  std::optional<int32_t> depth;  // none: chosen round by round
  bool lazy = false;             // weights of a drafter with a folder of its own are arranged at its first use
};

// Whom it drafts for: what runs on the machine, and was loaded from `folder` or made at random.
struct DraftTarget {
  const std::filesystem::path& folder;
  Forward& forward;
  const RandomModel& random;
};

// Owns who drafts and who says how deep.
class Drafting {
 public:
  // An error says what is wrong with the drafter.
  static Result<std::unique_ptr<Drafting>> make(const DraftOptions& options, const DraftTarget& target,
                                                Machine& machine);

  // None: nobody drafts. One that is several, where there are several.
  [[nodiscard]] Drafter* drafter() const { return drafter_.get(); }
  // Of each of them.
  [[nodiscard]] StepCosts* costs() { return costs_.data(); }
  // What a step without drafts takes at about this context; 0 where none was timed.
  [[nodiscard]] double plain_ms(int32_t context) const;
  [[nodiscard]] std::optional<int32_t> fixed_depth() const { return fixed_depth_; }
  // ngram, none, or folders.
  [[nodiscard]] std::string name() const;
  struct Part {
    DraftedBy kind{};
    std::filesystem::path folder;  // "": it has none
  };
  [[nodiscard]] const std::vector<Part>& parts() const { return parts_; }
  // Who was found where the options left it open; "": they did not.
  [[nodiscard]] const std::string& finding() const { return finding_; }
  // What is wrong with those that lay where drafters do, where none of them fits; "": nothing. Without their paths.
  [[nodiscard]] const std::string& refused() const { return refused_; }
  // Of those whose weights wait to be asked for: whether they may take their memory. Where not, they give it up and
  // guess nothing: to be said while nothing runs.
  void let_lazy(bool may);
  // Whether there are such, and they have been asked.
  [[nodiscard]] bool is_lazy() const { return !lazy_.empty(); }
  [[nodiscard]] bool has_lazy_loaded() const;
  // For the next run. Where nothing can be kept, that run times anew.
  void keep_costs() const;

 private:
  Drafting() = default;
  using Drafters = std::vector<std::unique_ptr<Drafter>>;
  void use(const FoundDrafter& found, bool lazy, Drafters& drafters);
  void use_ngram(Drafters& drafters);
  Status find(const DraftOptions& options, const DraftTarget& target, Machine& machine, Drafters& drafters);
  Status use_script(const DraftOptions& options, const DraftTarget& target, Machine& machine, Drafters& drafters);
  void learn_costs(const DraftTarget& target, const Machine& machine, const Drafters& drafters);

  std::vector<Part> parts_;
  std::string finding_, refused_;
  std::optional<int32_t> fixed_depth_;
  std::vector<StepCosts> costs_;
  std::vector<CostKey> cost_keys_;
  std::unique_ptr<Drafter> drafter_;
  std::vector<LazyDrafter*> lazy_;  // of it
};

}  // namespace paceline
