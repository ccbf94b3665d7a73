#include "model/config_fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace paceline {
namespace json = boost::json;

Result<std::string> known_model_type(const JsonFields& top, std::span<const std::string_view> known) {
  TRY_ASSIGN(std::string found, top.text("model_type"));
  if (std::find(known.begin(), known.end(), found) == known.end()) {
    return top.wrong("model_type", fmt::format("one of {}", fmt::join(known, ", ")));
  }
  return found;
}

// Multimodal files nest the text model, text-only ones are flat.
Result<JsonFields> text_section(const JsonFields& top) {
  TRY_ASSIGN(const auto nested, top.object_if_any("text_config"));
  return nested ? *nested : top;
}

Status read_token_id(const JsonFields& fields, std::string_view name, int32_t vocab, TokenId* id) {
  TRY_ASSIGN(const int64_t found, fields.integer_or(name, *id, -1, vocab - 1));
  *id = static_cast<TokenId>(found);
  return Done{};
}

// eos_token_id: one id, or a list of them.
Status read_stop_ids(const JsonFields& fields, int32_t vocab, std::vector<TokenId>* stop_ids) {
  const json::value* eos = fields.find("eos_token_id");
  if (eos == nullptr) return Done{};
  const auto add = [&](const json::value& value) {
    const auto id = json_integer(value);
    if (!id || *id < 0 || *id >= vocab) return false;
    stop_ids->push_back(static_cast<TokenId>(*id));
    return true;
  };
  bool good = true;
  if (eos->is_array()) {
    for (const json::value& value : eos->get_array()) good = good && add(value);
  } else {
    good = add(*eos);
  }
  if (!good) return fields.wrong("eos_token_id", fmt::format("ids from 0 to {}, one or a list", vocab - 1));
  std::sort(stop_ids->begin(), stop_ids->end());
  stop_ids->erase(std::unique(stop_ids->begin(), stop_ids->end()), stop_ids->end());
  return Done{};
}

namespace {

Status read_suppressed(const JsonFields& fields, ModelConfig* config) {
  const json::value* list = fields.find("suppress_tokens");
  if (list == nullptr) return Done{};
  const std::string expected = fmt::format("a list of ids from 0 to {}", config->vocab - 1);
  if (!list->is_array()) return fields.wrong("suppress_tokens", expected);
  for (const json::value& value : list->get_array()) {
    const auto id = json_integer(value);
    if (!id || *id < 0 || *id >= config->vocab) return fields.wrong("suppress_tokens", expected);
    config->suppressed.push_back(static_cast<TokenId>(*id));
  }
  return Done{};
}

}  // namespace

Status read_generation(std::string_view generation_config_json, ModelConfig* config) {
  if (generation_config_json.empty()) return Done{};
  constexpr const char* kFile = "generation_config.json";
  TRY_ASSIGN(const json::object document, parse_json_object(generation_config_json, kFile));
  const JsonFields fields(document, kFile);
  TRY(read_stop_ids(fields, config->vocab, &config->stop_ids));
  TRY(read_suppressed(fields, config));
  TRY_ASSIGN(const double temperature, fields.number_or("temperature", config->temperature, 0.0, 100.0));
  TRY_ASSIGN(const int64_t top_k, fields.integer_or("top_k", config->top_k, 0, kMaxVocab));
  TRY_ASSIGN(const double top_p, fields.number_or("top_p", config->top_p, 0.0, 1.0));
  config->temperature = static_cast<float>(temperature);
  config->top_k = static_cast<int32_t>(top_k);
  config->top_p = static_cast<float>(top_p);
  return Done{};
}

}  // namespace paceline
