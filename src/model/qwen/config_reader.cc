#include "model/qwen/config_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "kernels/ops.h"
#include "model/config_fields.h"
#include "weights/quantised/declared.h"

namespace paceline::qwen {
namespace {

namespace json = boost::json;

// Sane maxima: far above every model, and small enough that products of two fit in 64 bits.
constexpr int64_t kMaxHidden = 1 << 16;
constexpr int64_t kMaxFfn = 1 << 20;
constexpr int64_t kMaxContext = 1 << 27;
constexpr int64_t kMaxExperts = 4096;
constexpr int64_t kMaxHeads = 1024;
constexpr int64_t kMaxLayers = 1024;
constexpr int64_t kMaxKernel = 64;

constexpr std::array<std::string_view, 6> kModels = {"qwen3",        "qwen3_moe",   "qwen3_5",
                                                     "qwen3_5_text", "qwen3_5_moe", "qwen3_5_moe_text"};

bool is_gated(std::string_view model_type) { return model_type.starts_with("qwen3_5"); }

// What the forward does not compute must not be asked for.
Status check_unsupported(const JsonFields& text) {
  TRY_ASSIGN(const std::string activation, text.text_or("hidden_act", "silu"));
  if (activation != "silu") return text.wrong("hidden_act", "\"silu\"");
  TRY_ASSIGN(const bool bias, text.boolean_or("attention_bias", false));
  if (bias) return text.wrong("attention_bias", "false");
  TRY_ASSIGN(const bool slides, text.boolean_or("use_sliding_window", false));
  if (slides) return text.wrong("use_sliding_window", "false");
  TRY_ASSIGN(const bool gate, text.boolean_or("attn_output_gate", true));
  if (!gate) return text.wrong("attn_output_gate", "true");
  return Done{};
}

// Positions as they are, or stretched: then the context is at least what the one before was stretched to.
Status read_rope_type(const JsonFields& rope, int32_t context, QwenConfig* config) {
  TRY_ASSIGN(const std::string older, rope.text_or("type", "default"));
  TRY_ASSIGN(const std::string type, rope.text_or("rope_type", older));
  if (type == "default") return Done{};
  if (type != "yarn") return rope.wrong("rope_type", "\"default\" or \"yarn\"");
  TRY_ASSIGN(config->yarn, read_yarn(rope, context));
  if (rope.find("original_max_position_embeddings") == nullptr) return Done{};
  const double stretched = config->yarn->original_context * config->yarn->factor;
  config->context =
      static_cast<int32_t>(std::clamp(stretched, static_cast<double>(context), static_cast<double>(kMaxContext)));
  return Done{};
}

Status read_rope(const JsonFields& text, QwenConfig* config) {
  const int32_t context = config->context;
  TRY_ASSIGN(config->rope_theta, text.number_or("rope_theta", 10000.0, 1.0, 1e12));
  TRY_ASSIGN(double share, text.number_or("partial_rotary_factor", config->gates_attention ? 0.25 : 1.0, 0.0, 1.0));
  for (const char* name : {"rope_scaling", "rope_parameters"}) {
    TRY_ASSIGN(const auto rope, text.object_if_any(name));
    if (!rope) continue;
    TRY(read_rope_type(*rope, context, config));
    TRY_ASSIGN(config->rope_theta, rope->number_or("rope_theta", config->rope_theta, 1.0, 1e12));
    TRY_ASSIGN(share, rope->number_or("partial_rotary_factor", share, 0.0, 1.0));
  }
  config->rotary = static_cast<int32_t>(config->head_dim * share);
  if (config->rotary > 0 && config->rotary % 2 == 0) return Done{};
  return text.wrong("partial_rotary_factor", fmt::format("one that turns an even part of {}", config->head_dim));
}

Status read_heads(const JsonFields& text, QwenConfig* config) {
  TRY_ASSIGN(const int64_t heads, text.integer("num_attention_heads", 1, kMaxHeads));
  TRY_ASSIGN(const int64_t kv_heads, text.integer_or("num_key_value_heads", heads, 1, heads));
  if (heads % kv_heads != 0) return text.wrong("num_key_value_heads", fmt::format("a divisor of {}", heads));
  TRY_ASSIGN(const int64_t dim, text.integer_or("head_dim", config->hidden / heads, 2, kernels::kMaxHeadDim));
  if (dim % 2 != 0) return text.wrong("head_dim", "an even number");
  config->heads = static_cast<int32_t>(heads);
  config->kv_heads = static_cast<int32_t>(kv_heads);
  config->head_dim = static_cast<int32_t>(dim);
  return Done{};
}

Status read_delta(const JsonFields& text, kernels::DeltaShape* delta) {
  TRY_ASSIGN(const int64_t kernel, text.integer_or("linear_conv_kernel_dim", 4, 2, kMaxKernel));
  TRY_ASSIGN(const int64_t key_dim, text.integer_or("linear_key_head_dim", 128, 1, kernels::kMaxHeadDim));
  TRY_ASSIGN(const int64_t value_dim, text.integer_or("linear_value_head_dim", 128, 1, kernels::kMaxHeadDim));
  TRY_ASSIGN(const int64_t key_heads, text.integer_or("linear_num_key_heads", 16, 1, kMaxHeads));
  TRY_ASSIGN(const int64_t value_heads, text.integer_or("linear_num_value_heads", 32, 1, kMaxHeads));
  if (value_heads % key_heads != 0)
    return text.wrong("linear_num_value_heads", fmt::format("a multiple of {}", key_heads));
  // GGUF's order, by a name of our own.
  TRY_ASSIGN(const bool dealt, text.boolean_or("linear_value_heads_dealt", false));
  *delta = {static_cast<int32_t>(key_heads), static_cast<int32_t>(value_heads), static_cast<int32_t>(key_dim),
            static_cast<int32_t>(value_dim), static_cast<int32_t>(kernel),      dealt};
  return Done{};
}

Status read_mixers(const JsonFields& text, QwenConfig* config) {
  const json::value* types = text.find("layer_types");
  TRY_ASSIGN(const int64_t interval, text.integer_or("full_attention_interval", 4, 1, kMaxLayers));
  if (types != nullptr && (!types->is_array() || types->get_array().size() != config->layers.size()))
    return text.wrong("layer_types", fmt::format("a list of {}", config->layers.size()));
  for (size_t i = 0; i < config->layers.size(); ++i) {
    bool is_full = !config->gates_attention || (i + 1) % static_cast<size_t>(interval) == 0;
    if (types != nullptr) {
      const json::value& type = types->get_array()[i];
      is_full = type.is_string() && type.get_string() == "full_attention";
      if (!is_full && (!config->gates_attention || !type.is_string() || type.get_string() != "linear_attention"))
        return text.wrong("layer_types", fmt::format("\"full_attention\"{} at {}",
                                                     config->gates_attention ? " or \"linear_attention\"" : "", i));
    }
    config->layers[i].mixer = is_full ? Mixer::attention : Mixer::delta;
  }
  const auto is_delta = [](const LayerConfig& layer) { return layer.mixer == Mixer::delta; };
  if (std::any_of(config->layers.begin(), config->layers.end(), is_delta)) return read_delta(text, &config->delta);
  return Done{};
}

Status read_expert_layers(const JsonFields& text, QwenConfig* config) {
  TRY_ASSIGN(const int64_t step, text.integer_or("decoder_sparse_step", 1, 1, kMaxLayers));
  for (size_t i = 0; i < config->layers.size(); ++i)
    config->layers[i].experts = (i + 1) % static_cast<size_t>(step) == 0;
  const json::value* dense = text.find("mlp_only_layers");
  if (dense == nullptr) return Done{};
  if (!dense->is_array()) return text.wrong("mlp_only_layers", "a list of layers");
  for (const json::value& value : dense->get_array()) {
    const auto layer = json_integer(value);
    if (!layer || *layer < 0 || *layer >= config->layer_count())
      return text.wrong("mlp_only_layers", fmt::format("layers from 0 to {}", config->layer_count() - 1));
    config->layers[static_cast<size_t>(*layer)].experts = false;
  }
  return Done{};
}

Status read_experts(const JsonFields& text, QwenConfig* config) {
  const char* const name = text.find("num_experts") == nullptr ? "num_local_experts" : "num_experts";
  TRY_ASSIGN(const int64_t experts, text.integer(name, 1, kMaxExperts));
  TRY_ASSIGN(const int64_t chosen, text.integer("num_experts_per_tok", 1, experts));
  TRY_ASSIGN(const int64_t ffn, text.integer("moe_intermediate_size", 1, kMaxFfn));
  config->experts = static_cast<int32_t>(experts);
  config->experts_per_token = static_cast<int32_t>(chosen);
  config->expert_ffn = static_cast<int32_t>(ffn);
  if (config->gates_attention) {
    TRY_ASSIGN(const int64_t shared, text.integer("shared_expert_intermediate_size", 1, kMaxFfn));
    config->shared_ffn = static_cast<int32_t>(shared);
  } else {
    TRY_ASSIGN(config->divides_shares, text.boolean_or("norm_topk_prob", false));
  }
  return read_expert_layers(text, config);
}

Status read_text(const JsonFields& text, QwenConfig* config) {
  TRY(check_unsupported(text));
  TRY_ASSIGN(const int64_t hidden, text.integer("hidden_size", 2, kMaxHidden));
  TRY_ASSIGN(const int64_t vocab, text.integer("vocab_size", 1, kMaxVocab));
  TRY_ASSIGN(const int64_t context, text.integer_or("max_position_embeddings", 32768, 1, kMaxContext));
  TRY_ASSIGN(const int64_t layers, text.integer("num_hidden_layers", 1, kMaxLayers));
  TRY_ASSIGN(const double eps, text.number_or("rms_norm_eps", 1e-6, 1e-12, 1.0));
  TRY_ASSIGN(const int64_t mtp, text.integer_or("mtp_num_hidden_layers", 0, 0, kMaxLayers));
  config->hidden = static_cast<int32_t>(hidden);
  config->vocab = static_cast<int32_t>(vocab);
  config->context = static_cast<int32_t>(context);
  config->rms_eps = static_cast<float>(eps);
  config->mtp_layers = static_cast<int32_t>(mtp);
  config->layers.resize(static_cast<size_t>(layers));
  TRY(read_heads(text, config));
  TRY(read_rope(text, config));
  TRY(read_mixers(text, config));
  const bool has_experts = config->model_type.find("moe") != std::string::npos;
  if (has_experts) TRY(read_experts(text, config));
  const auto is_dense = [](const LayerConfig& layer) { return !layer.experts; };
  if (std::none_of(config->layers.begin(), config->layers.end(), is_dense)) return Done{};
  TRY_ASSIGN(const int64_t ffn, text.integer("intermediate_size", 1, kMaxFfn));
  config->ffn = static_cast<int32_t>(ffn);
  return Done{};
}

Status read_ids(const JsonFields& top, const JsonFields& text, QwenConfig* config) {
  for (const JsonFields* fields : {&text, &top}) {
    TRY(read_token_id(*fields, "pad_token_id", config->vocab, &config->ids.pad));
    TRY(read_token_id(*fields, "bos_token_id", config->vocab, &config->ids.bos));
    TRY(read_stop_ids(*fields, config->vocab, &config->stop_ids));
  }
  return Done{};
}

}  // namespace

bool is_qwen_config(std::string_view config_json) {
  const auto document = parse_json_object(config_json, "config.json");
  return document.ok() && known_model_type(JsonFields(*document, "config.json"), kModels).ok();
}

Result<QwenConfig> read_config(std::string_view config_json, std::string_view generation_config_json) {
  TRY_ASSIGN(const json::object document, parse_json_object(config_json, "config.json"));
  const JsonFields top(document, "config.json");
  QwenConfig config;
  TRY_ASSIGN(config.model_type, known_model_type(top, kModels));
  config.gates_attention = config.norms_from_one = is_gated(config.model_type);
  config.temperature = config.gates_attention ? 1.0f : 0.6f;
  config.top_k = 20;
  TRY_ASSIGN(const JsonFields text, text_section(top));
  TRY(read_text(text, &config));
  // Likewise: GGUF has the one added already.
  TRY_ASSIGN(const bool whole, text.boolean_or("norm_weights_whole", false));
  if (whole) config.norms_from_one = false;
  TRY_ASSIGN(const bool text_tied, text.boolean_or("tie_word_embeddings", false));
  TRY_ASSIGN(config.tied_head, top.boolean_or("tie_word_embeddings", text_tied));
  TRY(read_ids(top, text, &config));
  TRY(read_generation(generation_config_json, &config));
  TRY_ASSIGN(const DeclaredQuantization quantization, read_quantization(top));
  config.quant_bits = quantization.bits;
  config.quant_group = quantization.group;
  return config;
}

}  // namespace paceline::qwen
