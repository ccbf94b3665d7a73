// Models of a named shape with random weights, made in memory: for measuring speed without a checkpoint.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "model/qwen/weights.h"
#include "model/synthetic_maker.h"

namespace paceline::qwen {

const std::vector<std::string_view>& synthetic_names();
Result<QwenConfig> synthetic_config(std::string_view name);

// Bytes that make_synthetic would take.
size_t synthetic_bytes(const QwenConfig& config, const SyntheticFormat& format);
std::shared_ptr<const QwenWeights> make_synthetic(const QwenConfig& config, const SyntheticFormat& format,
                                                  ThreadPool& pool);

}  // namespace paceline::qwen
