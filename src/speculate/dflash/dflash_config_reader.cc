#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "kernels/ops.h"
#include "speculate/dflash/dflash_config.h"
#include "weights/json_fields.h"

namespace paceline {
namespace {

namespace json = boost::json;

constexpr int64_t kMaxWidth = 1 << 16;
constexpr int64_t kMaxFfn = 1 << 20;
constexpr int64_t kMaxLayers = 256;
constexpr int64_t kMaxHeads = 1024;
constexpr int64_t kMaxVocab = 1 << 24;
constexpr int64_t kMaxContext = 1 << 27;
constexpr int64_t kMaxBlock = 128;
constexpr int64_t kMaxTaps = 16;

constexpr const char* kFirst = "DFlashDraftModel";
constexpr const char* kSecond = "DFlash2DraftModel";

// The first of `architectures`; "": there is none.
std::string architecture_of(const JsonFields& top) {
  const json::value* list = top.find("architectures");
  if (list == nullptr || !list->is_array() || list->get_array().empty()) return "";
  const json::value& first = list->get_array().front();
  return first.is_string() ? std::string(first.get_string()) : "";
}

// Keys that stand in dflash_config or at the top level.
class BothPlaces {
 public:
  BothPlaces(const JsonFields& top, const std::optional<JsonFields>& inner) : top_(top), inner_(inner) {}

  [[nodiscard]] const JsonFields& holder(std::string_view name) const {
    return inner_ && inner_->find(name) != nullptr ? *inner_ : top_;
  }
  [[nodiscard]] bool has(std::string_view name) const { return holder(name).find(name) != nullptr; }

 private:
  const JsonFields& top_;
  const std::optional<JsonFields>& inner_;
};

Status refuse_unsupported(const JsonFields& top, const BothPlaces& both) {
  TRY_ASSIGN(const std::string activation, top.text_or("hidden_act", "silu"));
  if (activation != "silu") return top.wrong("hidden_act", "\"silu\"");
  const JsonFields& anchor = both.holder("sample_from_anchor");
  TRY_ASSIGN(const bool from_anchor, anchor.boolean_or("sample_from_anchor", false));
  if (from_anchor) return anchor.wrong("sample_from_anchor", "false (true is DSpark, another drafter)");
  for (const char* reduced : {"draft_vocab_size", "d2t", "t2d"})
    if (both.has(reduced))
      return both.holder(reduced).wrong(reduced, "none (a reduced draft vocabulary is not supported)");
  return Done{};
}

Status read_rope(const JsonFields& top, DflashConfig* config) {
  TRY_ASSIGN(auto rope, top.object_if_any("rope_parameters"));
  TRY_ASSIGN(config->rope_theta, top.number_or("rope_theta", 10000, 1, 1e12));
  if (!rope) {
    TRY_ASSIGN(rope, top.object_if_any("rope_scaling"));
  }
  if (!rope) return Done{};
  TRY_ASSIGN(config->rope_theta, rope->number_or("rope_theta", config->rope_theta, 1, 1e12));
  TRY_ASSIGN(const double part, rope->number_or("partial_rotary_factor", 1, 0, 1));
  if (part != 1) return rope->wrong("partial_rotary_factor", "1");
  TRY_ASSIGN(const std::string older, rope->text_or("type", "default"));
  TRY_ASSIGN(const std::string type, rope->text_or("rope_type", older));
  if (type == "default") return Done{};
  if (type != "yarn") return rope->wrong("rope_type", "\"default\" or \"yarn\"");
  TRY_ASSIGN(const int64_t context, top.integer_or("max_position_embeddings", 32768, 1, kMaxContext));
  TRY_ASSIGN(config->yarn, read_yarn(*rope, context));
  return Done{};
}

// is_causal, or an older spelling; absent: sliding layers are, full ones are not.
Result<std::optional<bool>> read_causal(const BothPlaces& both) {
  for (const char* name : {"is_causal", "causal"}) {
    if (!both.has(name)) continue;
    TRY_ASSIGN(const bool causal, both.holder(name).boolean_or(name, false));
    return std::optional<bool>(causal);
  }
  return std::optional<bool>();
}

Status read_layers(const JsonFields& top, const BothPlaces& both, DflashConfig* config) {
  TRY_ASSIGN(const int64_t count, top.integer("num_hidden_layers", 1, kMaxLayers));
  config->layers.resize(static_cast<size_t>(count));
  if (const json::value* types = top.find("layer_types")) {
    if (!types->is_array() || types->get_array().size() != static_cast<size_t>(count))
      return top.wrong("layer_types", fmt::format("a list of {}", count));
    for (size_t i = 0; i < config->layers.size(); ++i) {
      const json::value& type = types->get_array()[i];
      config->layers[i].sliding = type == "sliding_attention";
      if (!config->layers[i].sliding && type != "full_attention")
        return Error{fmt::format("{}[{}]: expected \"full_attention\" or \"sliding_attention\", found {}",
                                 top.path_of("layer_types"), i, json_text(type))};
    }
  }
  TRY_ASSIGN(const std::optional<bool> causal, read_causal(both));
  bool slides = false;
  for (DflashLayerConfig& layer : config->layers) {
    layer.causal = causal.value_or(layer.sliding);
    slides = slides || layer.sliding;
  }
  TRY_ASSIGN(const bool has_window, top.boolean_or("use_sliding_window", true));
  if (!slides || !has_window) return Done{};
  TRY_ASSIGN(const int64_t window, top.integer("sliding_window", 1, kMaxContext));
  config->window = static_cast<int32_t>(window);
  return Done{};
}

Status read_tapped(const JsonFields& top, const BothPlaces& both, DflashConfig* config) {
  TRY_ASSIGN(const int64_t layers, top.integer_or("num_target_layers", 0, 1, kMaxLayers * 4));
  config->target_layers = static_cast<int32_t>(layers);
  const JsonFields& holder = both.holder("target_layer_ids");
  const json::value* ids = holder.find("target_layer_ids");
  if (ids == nullptr) return Done{};
  const bool is_list = ids->is_array() && !ids->get_array().empty() && ids->get_array().size() <= 64;
  if (!is_list) return holder.wrong("target_layer_ids", "a list of 1 to 64 layers");
  for (const json::value& value : ids->get_array()) {
    const auto id = json_integer(value);
    if (!id || *id < 0 || *id >= kMaxLayers * 4)
      return Error{
          fmt::format("{}: expected layers from 0 on, found {}", holder.path_of("target_layer_ids"), json_text(value))};
    config->tapped.push_back(static_cast<int32_t>(*id));
  }
  return Done{};
}

Status read_ends(const BothPlaces& both, DflashConfig* config) {
  const auto number = [&](const char* name, double least) { return both.holder(name).number_or(name, 1, least, 1e6); };
  TRY_ASSIGN(const int64_t block, both.holder("block_size").integer_or("block_size", 16, 2, kMaxBlock));
  TRY_ASSIGN(const int64_t mask, both.holder("mask_token_id").integer("mask_token_id", 0, kMaxVocab));
  config->block_size = static_cast<int32_t>(block);
  config->mask = static_cast<TokenId>(mask);
  if (both.has("input_embedding_scale")) {
    TRY_ASSIGN(const double scale, number("input_embedding_scale", -1e6));
    config->embedding_scale = static_cast<float>(scale);
  }
  if (both.has("final_logit_softcapping")) {
    TRY_ASSIGN(const double cap, number("final_logit_softcapping", 0));
    config->softcap = static_cast<float>(cap);
  }
  TRY_ASSIGN(const double multiplier, number("output_multiplier", 1e-6));
  config->output_multiplier = static_cast<float>(multiplier);
  return Done{};
}

Status read_second(const JsonFields& inner, DflashConfig* config) {
  TRY_ASSIGN(const int64_t taps, inner.integer("conv_kernel_size", 1, kMaxTaps));
  TRY_ASSIGN(const int64_t group, inner.integer("conv_group_size", 1, config->hidden));
  if (config->hidden % group != 0)
    return inner.wrong("conv_group_size", fmt::format("a divisor of the hidden size, {}", config->hidden));
  TRY_ASSIGN(const int64_t rank, inner.integer("selector_rank", 1, kMaxWidth));
  TRY_ASSIGN(const int64_t top, inner.integer("selector_top_k", 1, 4096));
  config->conv = {static_cast<int32_t>(taps), static_cast<int32_t>(group)};
  config->selector = {static_cast<int32_t>(rank), static_cast<int32_t>(top)};
  return Done{};
}

Status read_shape(const JsonFields& top, DflashConfig* config) {
  const auto read = [&](const char* name, int64_t least, int64_t most, int32_t* to) -> Status {
    TRY_ASSIGN(const int64_t found, top.integer(name, least, most));
    *to = static_cast<int32_t>(found);
    return Done{};
  };
  TRY(read("hidden_size", 2, kMaxWidth, &config->hidden));
  TRY(read("num_attention_heads", 1, kMaxHeads, &config->heads));
  TRY(read("num_key_value_heads", 1, config->heads, &config->kv_heads));
  TRY(read("head_dim", 2, kernels::kMaxHeadDim, &config->head_dim));
  TRY(read("intermediate_size", 1, kMaxFfn, &config->ffn));
  if (config->heads % config->kv_heads != 0)
    return top.wrong("num_key_value_heads", fmt::format("a divisor of {}", config->heads));
  if (config->head_dim % 2 != 0) return top.wrong("head_dim", "an even number");
  TRY_ASSIGN(const int64_t vocab, top.integer_or("vocab_size", 0, 1, kMaxVocab));
  config->vocab = static_cast<int32_t>(vocab);
  TRY_ASSIGN(const double eps, top.number_or("rms_norm_eps", 1e-6, 1e-12, 1));
  config->rms_eps = static_cast<float>(eps);
  TRY_ASSIGN(config->has_bias, top.boolean_or("attention_bias", false));
  return Done{};
}

}  // namespace

bool is_dflash_config(std::string_view config_json) {
  const auto document = parse_json_object(config_json, "config.json");
  if (!document.ok()) return false;
  const std::string found = architecture_of(JsonFields(*document, "config.json"));
  return found == kFirst || found == kSecond;
}

Result<DflashConfig> read_dflash_config(std::string_view config_json) {
  TRY_ASSIGN(const json::object document, parse_json_object(config_json, "config.json"));
  const JsonFields top(document, "config.json");
  DflashConfig config;
  config.architecture = architecture_of(top);
  if (config.architecture != kFirst && config.architecture != kSecond)
    return top.wrong("architectures", fmt::format("\"{}\" or \"{}\"", kFirst, kSecond));
  TRY_ASSIGN(const auto inner, top.object_if_any("dflash_config"));
  const BothPlaces both(top, inner);
  TRY(refuse_unsupported(top, both));
  TRY(read_shape(top, &config));
  TRY(read_rope(top, &config));
  TRY(read_layers(top, both, &config));
  TRY(read_tapped(top, both, &config));
  TRY(read_ends(both, &config));
  if (config.architecture == kSecond) {
    if (!inner) return top.wrong("dflash_config", "an object");
    TRY(read_second(*inner, &config));
  }
  return config;
}

}  // namespace paceline
