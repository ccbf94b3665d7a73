#include "model/vision/vision_config_reader.h"

#include <fmt/format.h>

#include "kernels/ops.h"
#include "weights/json_fields.h"

namespace paceline {
namespace {

// Above every Gemma by a factor of eight or more.
constexpr int64_t kMaxWidth = 1 << 14;
constexpr int64_t kMaxVisionLayers = 1024;
constexpr int64_t kMaxPositions = 1 << 17;

Status read_number(const JsonFields& fields, std::string_view name, int64_t otherwise, int64_t most, int32_t* out) {
  TRY_ASSIGN(const int64_t number, fields.integer_or(name, otherwise, 1, most));
  *out = static_cast<int32_t>(number);
  return Done{};
}

Status read_tower(const JsonFields& vision, VisionConfig* config) {
  TRY(read_number(vision, "hidden_size", 768, kMaxWidth, &config->hidden));
  TRY(read_number(vision, "intermediate_size", 3072, kMaxWidth * 4, &config->ffn));
  TRY(read_number(vision, "num_hidden_layers", 16, kMaxVisionLayers, &config->layers));
  TRY(read_number(vision, "num_attention_heads", 12, 1024, &config->heads));
  TRY(read_number(vision, "head_dim", 64, kernels::kMaxHeadDim, &config->head_dim));
  TRY(read_number(vision, "position_embedding_size", 10240, kMaxPositions, &config->positions));
  // Two axes, each of pairs.
  if (config->head_dim % 4 != 0) return vision.wrong("head_dim", "a multiple of 4");
  int32_t kv_heads = 0;
  TRY(read_number(vision, "num_key_value_heads", config->heads, 1024, &kv_heads));
  if (kv_heads != config->heads) return vision.wrong("num_key_value_heads", fmt::format("{}", config->heads));
  TRY_ASSIGN(const auto rope, vision.object_if_any("rope_parameters"));
  if (rope) {
    TRY_ASSIGN(config->rope_theta, rope->number_or("rope_theta", config->rope_theta, 1.0, 1e12));
  }
  TRY_ASSIGN(config->standardised, vision.boolean_or("standardize", false));
  TRY_ASSIGN(config->clipped, vision.boolean_or("use_clipped_linears", false));
  TRY_ASSIGN(const std::string activation, vision.text_or("hidden_activation", "gelu_pytorch_tanh"));
  if (activation != "gelu_pytorch_tanh") return vision.wrong("hidden_activation", "gelu_pytorch_tanh");
  return Done{};
}

Status read_embedder(const JsonFields& vision, VisionConfig* config) {
  config->kind = VisionKind::embedder;
  TRY_ASSIGN(const int64_t hidden, vision.integer("mm_embed_dim", 1, kMaxWidth));
  config->hidden = static_cast<int32_t>(hidden);
  return read_number(vision, "mm_posemb_size", 1120, kMaxPositions, &config->positions);
}

Result<int32_t> read_soft_tokens(const JsonFields& fields, int32_t otherwise) {
  TRY_ASSIGN(const int64_t budget, fields.integer_or("max_soft_tokens", otherwise, 1, 1 << 20));
  if (!is_budget(budget)) return fields.wrong("max_soft_tokens", "70, 140, 280, 560 or 1120");
  return static_cast<int32_t>(budget);
}

Result<ClipBudget> read_clip_fields(const JsonFields& fields) {
  ClipBudget budget;
  TRY_ASSIGN(budget.tokens, read_soft_tokens(fields, budget.tokens));
  TRY(read_number(fields, "num_frames", budget.frames, kMostFrames, &budget.frames));
  return budget;
}

}  // namespace

Result<std::optional<VisionConfig>> read_vision_config(std::string_view config_json) {
  TRY_ASSIGN(const boost::json::object document, parse_json_object(config_json, "config.json"));
  TRY_ASSIGN(const auto vision, JsonFields(document, "config.json").object_if_any("vision_config"));
  if (!vision) return std::optional<VisionConfig>();
  VisionConfig config;
  TRY(read_number(*vision, "patch_size", 16, 64, &config.shape.patch));
  TRY(read_number(*vision, "pooling_kernel_size", 3, 8, &config.shape.pool));
  TRY_ASSIGN(const double eps, vision->number_or("rms_norm_eps", 1e-6, 1e-12, 1.0));
  config.rms_eps = static_cast<float>(eps);
  TRY_ASSIGN(const std::string type, vision->text_or("model_type", "gemma4_vision"));
  if (type != "gemma4_vision" && type != "gemma4_unified_vision") {
    return vision->wrong("model_type", "gemma4_vision or gemma4_unified_vision");
  }
  TRY(type == "gemma4_vision" ? read_tower(*vision, &config) : read_embedder(*vision, &config));
  return std::optional<VisionConfig>(config);
}

Result<int32_t> read_picture_budget(std::string_view processor_config_json) {
  if (processor_config_json.empty()) return kDefaultBudget;
  TRY_ASSIGN(const boost::json::object document, parse_json_object(processor_config_json, "processor_config.json"));
  const JsonFields top(document, "processor_config.json");
  TRY_ASSIGN(const auto nested, top.object_if_any("image_processor"));
  const JsonFields& fields = nested ? *nested : top;
  return read_soft_tokens(fields, kDefaultBudget);
}

Result<std::optional<ClipBudget>> read_nested_clip_budget(std::string_view processor_config_json) {
  TRY_ASSIGN(const boost::json::object document, parse_json_object(processor_config_json, "processor_config.json"));
  TRY_ASSIGN(const auto nested, JsonFields(document, "processor_config.json").object_if_any("video_processor"));
  if (!nested) return std::optional<ClipBudget>();
  TRY_ASSIGN(const ClipBudget budget, read_clip_fields(*nested));
  return std::optional(budget);
}

Result<ClipBudget> read_clip_budget(std::string_view video_preprocessor_config_json) {
  constexpr const char* kFile = "video_preprocessor_config.json";
  TRY_ASSIGN(const boost::json::object document, parse_json_object(video_preprocessor_config_json, kFile));
  return read_clip_fields(JsonFields(document, kFile));
}

}  // namespace paceline
