// Fields of config.json and generation_config.json that families have in common.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/config.h"
#include "weights/json_fields.h"

namespace paceline {

// Above every model by a factor of eight or more.
inline constexpr int64_t kMaxVocab = 1 << 24;

// model_type, if it is one of these.
Result<std::string> known_model_type(const JsonFields& top, std::span<const std::string_view> known);
// Multimodal files nest the text model, text-only ones are flat.
Result<JsonFields> text_section(const JsonFields& top);
// As it was where the field is not there.
Status read_token_id(const JsonFields& fields, std::string_view name, int32_t vocab, TokenId* id);
// eos_token_id, added to those that are there.
Status read_stop_ids(const JsonFields& fields, int32_t vocab, std::vector<TokenId>* stop_ids);
// generation_config.json, which may be empty: stop ids and defaults for sampling.
Status read_generation(std::string_view generation_config_json, ModelConfig* config);

}  // namespace paceline
