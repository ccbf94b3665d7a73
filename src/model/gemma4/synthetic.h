// Models of a named shape with random weights, made in memory: for measuring speed without a checkpoint.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "model/gemma4/mtp_weights.h"
#include "model/gemma4/weights.h"
#include "model/synthetic_maker.h"

namespace paceline {

// The family's five sizes, and small ones for processors.
const std::vector<std::string_view>& synthetic_names();
Result<Gemma4Config> synthetic_config(std::string_view name);

// Bytes that make_synthetic would take.
size_t synthetic_bytes(const Gemma4Config& config, const SyntheticFormat& format);
std::shared_ptr<const Gemma4Weights> make_synthetic(const Gemma4Config& config, const SyntheticFormat& format,
                                                    ThreadPool& pool);

// The MTP drafter of a named shape. With random weights it costs what a real one costs, but its drafts are noise.
Result<AssistantConfig> synthetic_mtp_config(std::string_view name);
size_t synthetic_mtp_bytes(const AssistantConfig& config, const SyntheticFormat& format);
std::shared_ptr<const MtpWeights> make_synthetic_mtp(const AssistantConfig& config, const SyntheticFormat& format,
                                                     ThreadPool& pool);

}  // namespace paceline
