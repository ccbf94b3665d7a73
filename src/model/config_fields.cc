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

namespace {

// compressed-tensors: integers of 4 or 8 bits in groups. Which modules have them is seen from the tensors.
Result<DeclaredQuantization> read_compressed(const JsonFields& fields) {
  TRY_ASSIGN(const std::string format, fields.text_or("format", ""));
  if (format != "pack-quantized")
    return fields.wrong("format", "\"pack-quantized\" (other compressed-tensors formats are not read)");
  TRY_ASSIGN(const auto groups, fields.object_if_any("config_groups"));
  DeclaredQuantization declared;
  if (!groups) return declared;
  for (const auto& [key, value] : groups->object()) {
    if (!value.is_object()) return groups->wrong({key.data(), key.size()}, "an object");
    const JsonFields group(value.get_object(), groups->path_of({key.data(), key.size()}));
    TRY_ASSIGN(const auto weights, group.object_if_any("weights"));
    if (!weights) continue;
    TRY_ASSIGN(const int64_t bits, weights->integer("num_bits", 1, 32));
    if (bits != 4 && bits != 8) return weights->wrong("num_bits", "4 or 8");
    TRY_ASSIGN(const std::string type, weights->text_or("type", "int"));
    if (type != "int") return weights->wrong("type", "\"int\"");
    TRY_ASSIGN(const int64_t size, weights->integer_or("group_size", 0, -1, 1 << 20));
    declared = {static_cast<int32_t>(bits), static_cast<int32_t>(size > 0 ? size : 0)};
  }
  return declared;
}

}  // namespace

// MLX writes the same object under both names; other quantisers use the second with a form of their own.
Result<DeclaredQuantization> read_quantization(const JsonFields& top) {
  TRY_ASSIGN(auto quantization, top.object_if_any("quantization"));
  if (!quantization) {
    TRY_ASSIGN(quantization, top.object_if_any("quantization_config"));
  }
  if (!quantization) return DeclaredQuantization{};
  TRY_ASSIGN(const std::string method, quantization->text_or("quant_method", ""));
  if (method == "compressed-tensors") return read_compressed(*quantization);
  if (!method.empty())
    return quantization->wrong("quant_method", "compressed-tensors, or MLX's groups (others are not read)");
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
