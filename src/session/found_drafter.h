// A model's drafter: where it usually lies, and loading it for a target that runs.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "kernels/ops.h"
#include "model/forward.h"
#include "model/gemma4/mtp_forward.h"
#include "speculate/drafter.h"
#include "weights/hub_cache.h"

namespace paceline {

// Folders that may hold the drafter of the checkpoint in `target`, first to be looked at first, whether they exist or
// not: within it, beside it, and in the local Hugging Face cache under the target's id with "-assistant" behind it.
std::vector<std::filesystem::path> drafter_places(const std::filesystem::path& target, const HubCaches& caches);

// A drafter's files, read for a target that runs.
class FoundDrafter {
 public:
  // An error says what is wrong with the folder, or what does not fit the target.
  static Result<FoundDrafter> load(const std::filesystem::path& folder, const Forward& target, ThreadPool& pool,
                                   kernels::Ops& ops);
  // The first of drafter_places() that holds one. `passed_by`: those that hold something else, and why; may be none.
  static std::optional<FoundDrafter> find(const std::filesystem::path& target_folder, const Forward& target,
                                          ThreadPool& pool, kernels::Ops& ops, std::string* passed_by);

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  [[nodiscard]] const MtpWeights& weights() const { return *weights_; }
  // Drafts for the target that it was loaded for.
  [[nodiscard]] std::unique_ptr<Drafter> drafter() const;

 private:
  FoundDrafter(std::filesystem::path folder, std::shared_ptr<const MtpWeights> weights, const Forward& target,
               kernels::Ops& ops);

  std::filesystem::path folder_;
  std::shared_ptr<const MtpWeights> weights_;
  std::shared_ptr<const Gemma4Weights> target_;
  Precision precision_;
  kernels::Ops* ops_;
};

}  // namespace paceline
