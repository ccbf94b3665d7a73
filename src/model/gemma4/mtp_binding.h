// A drafter's checkpoint folder (model_type gemma4_assistant, gemma4_unified_assistant) → MtpWeights. As strict as
// binding.h: every shape is checked, a missing tensor is named, and one that belongs to nothing is an error.
#pragma once

#include <filesystem>
#include <memory>

#include "base/result.h"
#include "base/thread_pool.h"
#include "model/gemma4/mtp_weights.h"
#include "weights/checkpoint.h"

namespace paceline {

Result<std::shared_ptr<const MtpWeights>> bind_mtp_weights(std::shared_ptr<const Checkpoint> checkpoint,
                                                           AssistantConfig config, ThreadPool& pool);
Result<std::shared_ptr<const MtpWeights>> load_mtp(const std::filesystem::path& folder, ThreadPool& pool);

// Whether the drafter was made for a target of this form. Where not, the error names what differs, with both values.
Status check_fits(const AssistantConfig& drafter, const Gemma4Config& target);
Status check_fits(const AssistantConfig& drafter, const ModelWeights& target);

// The target's layer whose keys and values the drafter's layers of a kind read: the last that has its own. -1: none.
int32_t mtp_source_layer(const Gemma4Config& target, LayerKind kind);

}  // namespace paceline
