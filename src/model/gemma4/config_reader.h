// config.json and generation_config.json → Gemma4Config. Both are hostile input: every number is checked, and an error
// names the field, what was expected and what was found.
#pragma once

#include <string_view>

#include "base/result.h"
#include "model/gemma4/config.h"

namespace paceline {

// generation_config may be empty: Gemma's own defaults hold.
Result<Gemma4Config> read_config(std::string_view config_json, std::string_view generation_config_json);

// What an MTP drafter's config.json says (model_type gemma4_assistant, gemma4_unified_assistant).
struct AssistantConfig {
  Gemma4Config text;            // its own layers; all read the target's keys and values, so kv_layer is -1
  int32_t backbone_hidden = 0;  // the target's hidden size
  int32_t centroids = 0;        // 0: no ordered embeddings, the head scores every token
  int32_t centroid_top_k = 0;
};

Result<AssistantConfig> read_assistant_config(std::string_view config_json);
// Whether a config.json is a drafter's, by its model_type alone.
bool is_assistant_config(std::string_view config_json);

}  // namespace paceline
