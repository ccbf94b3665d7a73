// What was learnt about a model's rounds, kept in the user's cache folder from one run to the next. Only time depends
// on it: a file that is missing, broken or of another build is as good as none.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "base/result.h"
#include "speculate/step_costs.h"

namespace paceline {

// Times hold for one of each; the device's name says as well what keys and values are kept in.
struct CostKey {
  std::string model, drafter, device, build;
};

class CostStore {
 public:
  explicit CostStore(std::filesystem::path folder) : folder_(std::move(folder)) {}
  // $XDG_CACHE_HOME/paceline/costs or ~/.cache/paceline/costs; keeps nothing where neither is known.
  static CostStore in_user_cache();

  [[nodiscard]] std::unique_ptr<StepCosts> load(const CostKey& key) const;
  // All or nothing: another run never reads half a file.
  Status save(const CostKey& key, const StepCosts& costs) const;

 private:
  [[nodiscard]] Result<std::filesystem::path> file_of(const CostKey& key) const;

  std::filesystem::path folder_;
};

// Of a checkpoint's folder: its path, and its files' names, sizes and times of change. Cheap, and another for another
// checkpoint in the same place.
std::string checkpoint_identity(const std::filesystem::path& folder);
// Of the program that runs.
std::string build_identity();

}  // namespace paceline
