// What `paceline inspect` says of a Qwen checkpoint.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/load.h"
#include "model/report_parts.h"

namespace paceline::qwen {

// An error where the model is of another family.
Result<std::string> report_text(const LoadedModel& model, Hashing hashing);
// kernels: the table that this machine would run it with.
Result<std::string> report_json(const LoadedModel& model, Hashing hashing, std::string_view kernels);

}  // namespace paceline::qwen
