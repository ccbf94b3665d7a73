// A model's drafters: where they usually lie, and loading one for a target that runs.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "kernels/ops.h"
#include "model/forward.h"
#include "model/gemma4/mtp_forward.h"
#include "speculate/dflash/dflash_forward.h"
#include "speculate/dflash/dflash_weights.h"
#include "speculate/drafter.h"
#include "weights/hub_cache.h"

namespace paceline {

// Folders that may hold a drafter of the checkpoint in `target`, first to be looked at first, whether they exist or
// not: within it, beside it, and in the local Hugging Face cache under the target's id with "-assistant" or "-DFlash"
// behind it.
std::vector<std::filesystem::path> drafter_places(const std::filesystem::path& target, const HubCaches& caches);

// Which kind of drafter lies there, if one does.
DraftedBy kind_of_drafter(const std::filesystem::path& folder);

// A drafter's files, read for a target that runs.
class FoundDrafter {
 public:
  // What it is, by its config. An error says what is wrong with the folder, or what does not fit the target.
  static Result<FoundDrafter> load(const std::filesystem::path& folder, Forward& target, ThreadPool& pool,
                                   kernels::Ops& ops);
  // Of drafter_places() the first of each kind that hold one. `passed_by`: those that hold something else, and why; may
  // be none.
  static std::vector<FoundDrafter> find(const std::filesystem::path& target_folder, Forward& target, ThreadPool& pool,
                                        kernels::Ops& ops, std::string* passed_by);

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  [[nodiscard]] DraftedBy kind() const;
  // None where it is of another kind.
  [[nodiscard]] const MtpWeights* mtp() const;
  // Drafts for the target that it was loaded for. Before that target's first sequence.
  [[nodiscard]] std::unique_ptr<Drafter> drafter() const;
  // Of one of kind dflash, likewise.
  [[nodiscard]] std::unique_ptr<DflashForward> dflash_forward(DflashForward::Arranged arranged) const;

 private:
  using Weights = std::variant<std::shared_ptr<const MtpWeights>, std::shared_ptr<const DflashWeights>>;
  FoundDrafter(std::filesystem::path folder, Weights weights, Forward& target)
      : folder_(std::move(folder)), weights_(std::move(weights)), target_(&target) {}

  std::filesystem::path folder_;
  Weights weights_;
  Forward* target_;
};

}  // namespace paceline
