// dflash.json and dflash2.json of a goldens folder: what the drafter in dflash/ or dflash2/ proposes when the first n
// tokens of a prompt and its greedy text stand, in full blocks and in blocks of half the size; and the comparison of
// our drafter with it.
#pragma once

#include <filesystem>

#include "base/result.h"
#include "base/thread_pool.h"
#include "kernels/ops.h"
#include "model/load.h"
#include "proof/golden_drafts.h"
#include "proof/golden_file.h"

namespace paceline {

struct DflashCheck {
  DraftsCheck drafts;
  double block_error = 0;  // of what is behind the final norm in the first and the last full block of each prompt
};

// Of all such drafters that the folder has; all zero where it has none, or the backend runs none.
Result<DflashCheck> check_golden_dflash(const std::filesystem::path& folder, const GoldenFile& golden,
                                        const DraftsSettings& settings, const LoadedModel& target, ThreadPool& pool,
                                        kernels::Ops& ops);

}  // namespace paceline
