// config.json and generation_config.json → QwenConfig. Both are hostile input: every number is checked, and an error
// names the field, what was expected and what was found.
#pragma once

#include <string_view>

#include "base/result.h"
#include "model/qwen/config.h"

namespace paceline::qwen {

// generation_config may be empty: the family's own defaults hold.
Result<QwenConfig> read_config(std::string_view config_json, std::string_view generation_config_json);

// Whether a config.json is one of this family's, by its model_type alone.
bool is_qwen_config(std::string_view config_json);

}  // namespace paceline::qwen
