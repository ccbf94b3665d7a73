// What `paceline inspect` says of a checkpoint of any family, or of a drafter.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/thread_pool.h"
#include "model/report_parts.h"

namespace paceline {

Result<std::string> checkpoint_report_text(const std::filesystem::path& folder, ThreadPool& pool, Hashing hashing);
// kernels: the table that this machine would run it with.
Result<std::string> checkpoint_report_json(const std::filesystem::path& folder, ThreadPool& pool, Hashing hashing,
                                           std::string_view kernels);

}  // namespace paceline
