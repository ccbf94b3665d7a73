// Drafters of a named model's shape with random weights: they cost what real ones cost, but their drafts are noise.
#pragma once

#include <memory>
#include <string_view>

#include "base/result.h"
#include "base/thread_pool.h"
#include "model/synthetic_maker.h"
#include "speculate/dflash/dflash_weights.h"

namespace paceline {

// Of the synthetic model of that name.
Result<DflashConfig> synthetic_dflash_config(std::string_view name);
size_t synthetic_dflash_bytes(const DflashConfig& config, const SyntheticFormat& format);
std::shared_ptr<const DflashWeights> make_synthetic_dflash(const DflashConfig& config, const SyntheticFormat& format,
                                                           ThreadPool& pool);

}  // namespace paceline
