// Speculation over a goldens folder: proposals against the golden's, and every kind of drafter against plain runs, with
// the model as it is stored, and quantised to 8 and 4 bits.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "kernels/ops.h"
#include "proof/golden_drafts.h"
#include "proof/identity.h"

namespace paceline {

struct SpeculationCheckSettings {
  Precision precision = Precision::bf16;  // of the stored form
  bool whole = false;                     // the whole matrix instead of a slice
  std::vector<int> bits = {0, 8, 4};      // 0: as it is stored
  std::function<bool(int64_t done, int64_t total)> progress;
};

struct SpeculationCheck {
  std::string name;
  // Of the MTP drafter in float32, against the golden's; none without one.
  DraftsCheck proposals;
  struct Form {
    std::string format;
    IdentityResult identity;
  };
  std::vector<Form> forms;

  [[nodiscard]] bool passed() const;
};

// A case without text prompts has nothing to compare: no forms.
Result<SpeculationCheck> check_speculation(const std::filesystem::path& folder,
                                           const SpeculationCheckSettings& settings, ThreadPool& pool,
                                           kernels::Ops& ops);

// What differed, in words.
std::string difference_text(const IdentityResult::Difference& difference);

}  // namespace paceline
