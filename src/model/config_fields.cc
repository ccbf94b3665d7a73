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

Status read_generation(std::string_view generation_config_json, ModelConfig* config) {
  if (generation_config_json.empty()) return Done{};
  constexpr const char* kFile = "generation_config.json";
  TRY_ASSIGN(const json::object document, parse_json_object(generation_config_json, kFile));
  const JsonFields fields(document, kFile);
  TRY(read_stop_ids(fields, config->vocab, &config->stop_ids));
  TRY_ASSIGN(const double temperature, fields.number_or("temperature", config->temperature, 0.0, 100.0));
  TRY_ASSIGN(const int64_t top_k, fields.integer_or("top_k", config->top_k, 0, kMaxVocab));
  TRY_ASSIGN(const double top_p, fields.number_or("top_p", config->top_p, 0.0, 1.0));
  config->temperature = static_cast<float>(temperature);
  config->top_k = static_cast<int32_t>(top_k);
  config->top_p = static_cast<float>(top_p);
  return Done{};
}

namespace {

Status check_quant_numbers(const JsonFields& fields) {
  TRY_ASSIGN(const int64_t bits, fields.integer("bits", 1, 32));
  TRY_ASSIGN(const int64_t group, fields.integer("group_size", 1, 1024));
  if (bits != 4 && bits != 8) return fields.wrong("bits", "4 or 8");
  if (group != 32 && group != 64 && group != 128) return fields.wrong("group_size", "32, 64 or 128");
  TRY_ASSIGN(const std::string mode, fields.text_or("mode", "affine"));
  if (mode != "affine") return fields.wrong("mode", "\"affine\"");
  return Done{};
}

}  // namespace

// MLX writes the same object under both names; other quantisers use the second with a form of their own.
Result<DeclaredQuantization> read_quantization(const JsonFields& top) {
  TRY_ASSIGN(auto quantization, top.object_if_any("quantization"));
  if (!quantization) {
    TRY_ASSIGN(quantization, top.object_if_any("quantization_config"));
  }
  if (!quantization) return DeclaredQuantization{};
  TRY(check_quant_numbers(*quantization));
  TRY_ASSIGN(const int64_t bits, quantization->integer("bits", 4, 8));
  TRY_ASSIGN(const int64_t group, quantization->integer("group_size", 32, 128));
  for (const auto& [key, value] : quantization->object()) {
    if (!value.is_object()) continue;  // false: that tensor is not quantised, which its shape says too
    TRY(check_quant_numbers(JsonFields(value.get_object(), quantization->path_of({key.data(), key.size()}))));
  }
  return DeclaredQuantization{static_cast<int32_t>(bits), static_cast<int32_t>(group)};
}

}  // namespace paceline
