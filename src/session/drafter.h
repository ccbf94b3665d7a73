// A model's drafter: where it usually lies, and loading it for a target that runs.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "kernels/ops.h"
#include "model/forward.h"
#include "speculate/proposer.h"
#include "weights/hub_cache.h"

namespace paceline {

// Folders that may hold the drafter of the checkpoint in `target`, first to be looked at first, whether they exist or
// not: within it, beside it, and in the local Hugging Face cache under the target's id with "-assistant" behind it.
std::vector<std::filesystem::path> drafter_places(const std::filesystem::path& target, const HubCaches& caches);

// An error says what is wrong with the folder, or what does not fit the target.
Result<std::unique_ptr<Proposer>> load_drafter(const std::filesystem::path& folder, const Forward& target,
                                               ThreadPool& pool, kernels::Ops& ops);

}  // namespace paceline
