#include "model/gemma4/config_reader.h"

#include <fmt/format.h>

#include <array>

#include "model/config_fields.h"
#include "model/gemma4/layer_config_reader.h"
#include "weights/json_fields.h"
#include "weights/quantised/declared.h"

namespace paceline {
namespace {

namespace json = boost::json;

// Sane maxima: above every Gemma by a factor of eight or more, and small enough that products of two fit in 64 bits.
constexpr int64_t kMaxHidden = 1 << 16;
constexpr int64_t kMaxContext = 1 << 27;
constexpr int64_t kMaxExperts = 4096;
constexpr int64_t kMaxExpertFfn = 1 << 20;
constexpr int64_t kMaxPleWidth = 1 << 14;

constexpr std::array<std::string_view, 4> kTextModels = {"gemma4", "gemma4_text", "gemma4_unified",
                                                         "gemma4_unified_text"};
constexpr std::array<std::string_view, 2> kAssistants = {"gemma4_assistant", "gemma4_unified_assistant"};

Status read_rope(const JsonFields& text, std::string_view kind, RopeConfig* rope) {
  TRY_ASSIGN(const auto all, text.object_if_any("rope_parameters"));
  if (!all) return Done{};
  TRY_ASSIGN(const auto mine, all->object_if_any(kind));
  if (!mine) return Done{};
  TRY_ASSIGN(rope->theta, mine->number_or("rope_theta", rope->theta, 1.0, 1e12));
  TRY_ASSIGN(rope->partial_factor, mine->number_or("partial_rotary_factor", 1.0, 0.0, 1.0));
  TRY_ASSIGN(const double stretch, mine->number_or("factor", 1.0, 0.0, 1e6));
  if (stretch != 1.0) return mine->wrong("factor", "1 (scaled positions are not supported)");
  TRY_ASSIGN(const std::string type, mine->text_or("rope_type", "default"));
  if (type != "default" && type != "proportional") return mine->wrong("rope_type", "\"default\" or \"proportional\"");
  // Of a partial "default" RoPE the exponent's divisor would be the rotated part, which RopeConfig cannot say.
  if (type == "default" && rope->partial_factor != 1.0)
    return mine->wrong("partial_rotary_factor", "1 with \"default\"");
  return Done{};
}

Status read_experts(const JsonFields& text, Gemma4Config* config) {
  TRY_ASSIGN(const bool enabled, text.boolean_or("enable_moe_block", false));
  if (!enabled) return Done{};
  TRY_ASSIGN(const int64_t experts, text.integer("num_experts", 1, kMaxExperts));
  TRY_ASSIGN(const int64_t chosen, text.integer("top_k_experts", 1, experts));
  TRY_ASSIGN(const int64_t ffn, text.integer("moe_intermediate_size", 1, kMaxExpertFfn));
  config->experts = static_cast<int32_t>(experts);
  config->experts_per_token = static_cast<int32_t>(chosen);
  config->expert_ffn = static_cast<int32_t>(ffn);
  return Done{};
}

Status read_ple(const JsonFields& text, Gemma4Config* config) {
  TRY_ASSIGN(const int64_t width, text.integer_or("hidden_size_per_layer_input", 0, 0, kMaxPleWidth));
  if (width == 0) return Done{};
  TRY_ASSIGN(const int64_t vocab, text.integer_or("vocab_size_per_layer_input", config->vocab, 1, kMaxVocab));
  config->ple_width = static_cast<int32_t>(width);
  config->ple_vocab = static_cast<int32_t>(vocab);
  return Done{};
}

// What the forward does not compute must not be asked for.
Status check_unsupported(const JsonFields& text) {
  constexpr std::string_view kGelu = "gelu_pytorch_tanh";
  TRY_ASSIGN(const std::string activation, text.text_or("hidden_activation", kGelu));
  if (activation != kGelu) return text.wrong("hidden_activation", "\"gelu_pytorch_tanh\"");
  TRY_ASSIGN(const bool bias, text.boolean_or("attention_bias", false));
  if (bias) return text.wrong("attention_bias", "false");
  return Done{};
}

Status read_token_ids(const JsonFields& top, const JsonFields& text, Gemma4Config* config) {
  TokenIds& ids = config->ids;
  const int32_t vocab = config->vocab;
  for (const JsonFields* fields : {&text, &top}) {
    TRY(read_token_id(*fields, "pad_token_id", vocab, &ids.pad));
    TRY(read_token_id(*fields, "bos_token_id", vocab, &ids.bos));
  }
  TRY(read_token_id(top, "boi_token_id", vocab, &ids.image_begin));
  TRY(read_token_id(top, "image_token_id", vocab, &ids.image));
  TRY(read_token_id(top, "eoi_token_id", vocab, &ids.image_end));
  TRY(read_token_id(top, "boa_token_id", vocab, &ids.audio_begin));
  TRY(read_token_id(top, "audio_token_id", vocab, &ids.audio));
  TRY(read_token_id(top, "eoa_token_id", vocab, &ids.audio_end));
  TRY(read_token_id(top, "eoa_token_index", vocab, &ids.audio_end));
  TRY(read_token_id(top, "video_token_id", vocab, &ids.video));
  return Done{};
}

Status read_text_section(const JsonFields& text, KvSource source, Gemma4Config* config) {
  TRY(check_unsupported(text));
  TRY_ASSIGN(const int64_t hidden, text.integer("hidden_size", 2, kMaxHidden));
  TRY_ASSIGN(const int64_t heads, text.integer("num_attention_heads", 1, kMaxHeads));
  TRY_ASSIGN(const int64_t vocab, text.integer("vocab_size", 1, kMaxVocab));
  TRY_ASSIGN(const int64_t window, text.integer_or("sliding_window", 512, 1, kMaxContext));
  TRY_ASSIGN(const int64_t context, text.integer_or("max_position_embeddings", 131072, 1, kMaxContext));
  TRY_ASSIGN(const double eps, text.number_or("rms_norm_eps", 1e-6, 1e-12, 1.0));
  TRY_ASSIGN(const double softcap, text.number_or("final_logit_softcapping", 0.0, 0.0, 1e6));
  config->hidden = static_cast<int32_t>(hidden);
  config->heads = static_cast<int32_t>(heads);
  config->vocab = static_cast<int32_t>(vocab);
  config->window = static_cast<int32_t>(window);
  config->context = static_cast<int32_t>(context);
  config->rms_eps = static_cast<float>(eps);
  config->softcap = static_cast<float>(softcap);
  config->rope_sliding = {10000.0, 1.0};
  config->rope_global = {1000000.0, 0.25};
  TRY(read_rope(text, "sliding_attention", &config->rope_sliding));
  TRY(read_rope(text, "full_attention", &config->rope_global));
  TRY(read_layers(text, source, config));
  TRY(read_experts(text, config));
  TRY(read_ple(text, config));
  TRY_ASSIGN(const std::string both_ways, text.text_or("use_bidirectional_attention", ""));
  if (!both_ways.empty() && both_ways != "vision")
    return text.wrong("use_bidirectional_attention", "null or \"vision\"");
  config->images_see_both_ways = both_ways == "vision";
  // Nothing else in the files says so, but the reference computes it (goldens of vlm and unified).
  config->both_ways_globally = config->images_see_both_ways && config->model_type == "gemma4_unified";
  return Done{};
}

Status read_model(const JsonFields& top, KvSource source, Gemma4Config* config) {
  TRY_ASSIGN(const JsonFields text, text_section(top));
  TRY(read_text_section(text, source, config));
  TRY_ASSIGN(const bool text_tied, text.boolean_or("tie_word_embeddings", true));
  TRY_ASSIGN(config->tied_head, top.boolean_or("tie_word_embeddings", text_tied));
  TRY(read_token_ids(top, text, config));
  TRY(read_stop_ids(text, config->vocab, &config->stop_ids));
  TRY(read_stop_ids(top, config->vocab, &config->stop_ids));
  TRY_ASSIGN(const DeclaredQuantization quantization, read_quantization(top));
  config->quant_bits = quantization.bits;
  config->quant_group = quantization.group;
  return Done{};
}

}  // namespace

Result<Gemma4Config> read_config(std::string_view config_json, std::string_view generation_config_json) {
  TRY_ASSIGN(const json::object document, parse_json_object(config_json, "config.json"));
  const JsonFields top(document, "config.json");
  Gemma4Config config;
  TRY_ASSIGN(config.model_type, known_model_type(top, kTextModels));
  TRY(read_model(top, KvSource::own_layers, &config));
  TRY(read_generation(generation_config_json, &config));
  return config;
}

bool is_assistant_config(std::string_view config_json) {
  const auto document = parse_json_object(config_json, "config.json");
  return document.ok() && known_model_type(JsonFields(*document, "config.json"), kAssistants).ok();
}

Result<AssistantConfig> read_assistant_config(std::string_view config_json) {
  TRY_ASSIGN(const json::object document, parse_json_object(config_json, "config.json"));
  const JsonFields top(document, "config.json");
  AssistantConfig config;
  TRY_ASSIGN(config.text.model_type, known_model_type(top, kAssistants));
  TRY(read_model(top, KvSource::target, &config.text));
  TRY_ASSIGN(const int64_t backbone, top.integer("backbone_hidden_size", 2, kMaxHidden));
  config.backbone_hidden = static_cast<int32_t>(backbone);
  TRY_ASSIGN(const bool ordered, top.boolean_or("use_ordered_embeddings", false));
  if (!ordered) return config;
  TRY_ASSIGN(const int64_t centroids, top.integer("num_centroids", 1, config.text.vocab));
  TRY_ASSIGN(const int64_t top_k, top.integer("centroid_intermediate_top_k", 1, centroids));
  if (config.text.vocab % centroids != 0) {
    return top.wrong("num_centroids", fmt::format("a divisor of the vocabulary's {}", config.text.vocab));
  }
  config.centroids = static_cast<int32_t>(centroids);
  config.centroid_top_k = static_cast<int32_t>(top_k);
  return config;
}

}  // namespace paceline
