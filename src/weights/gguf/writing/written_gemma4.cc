#include "weights/gguf/writing/written_gemma4.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>

#include "weights/json_fields.h"

namespace paceline {
namespace {

namespace json = boost::json;

constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
constexpr int64_t kMostWrittenLayers = 1024;

struct Described {
  JsonFields fields;
  std::string prefix;
};

// The text's fields, in a section of their own or at the top.
Result<Described> described(const json::object& config) {
  const JsonFields top(config, "config.json");
  TRY_ASSIGN(const std::string type, top.text("model_type"));
  const bool assistant = type == "gemma4_assistant" || type == "gemma4_unified_assistant";
  if (!assistant && type != "gemma4" && type != "gemma4_text" && type != "gemma4_unified" &&
      type != "gemma4_unified_text") {
    return Error{
        fmt::format("GGUF is written of Gemma 4, its drafters, Qwen3 and Qwen3.5; found model_type \"{}\" (the MLX "
                    "layout takes any)",
                    type)};
  }
  TRY_ASSIGN(const auto text, top.object_if_any("text_config"));
  return Described{text ? *text : top, assistant ? "gemma4-assistant" : "gemma4"};
}

struct Layers {
  std::vector<bool> sliding;
  std::vector<int32_t> kv_heads, ffn;
  int64_t heads = 0, sliding_dim = 0, global_dim = 0;
};

Result<std::vector<bool>> sliding_layers(const JsonFields& text, int64_t count) {
  const json::value* types = text.find("layer_types");
  if (types == nullptr || !types->is_array() || static_cast<int64_t>(types->get_array().size()) != count)
    return text.wrong("layer_types", fmt::format("an array of {}", count));
  std::vector<bool> sliding;
  for (const json::value& type : types->get_array()) {
    if (!type.is_string() || (type.get_string() != "sliding_attention" && type.get_string() != "full_attention"))
      return text.wrong("layer_types", "sliding_attention or full_attention");
    sliding.push_back(type.get_string() == "sliding_attention");
  }
  return sliding;
}

// What the config says of a layer's KV heads, for those that have no keys of their own.
Result<int64_t> configured_kv_heads(const JsonFields& text, int64_t layer, bool sliding) {
  TRY_ASSIGN(int64_t heads, text.integer("num_key_value_heads", 1, kMost));
  if (!sliding) {
    TRY_ASSIGN(heads, text.integer_or("num_global_key_value_heads", heads, 1, kMost));
  }
  TRY_ASSIGN(const auto special, text.object_if_any("per_layer_config"));
  if (!special) return heads;
  for (const auto& [name, value] : special->object()) {
    if (!value.is_object() || std::atoll(std::string(name).c_str()) != layer) continue;
    return JsonFields(value.get_object(), special->path_of(name)).integer_or("num_key_value_heads", heads, 1, kMost);
  }
  return heads;
}

Result<const TensorView*> needed(const WrittenNames& names, const std::string& name) {
  const TensorView* tensor = names.find(name);
  if (tensor == nullptr || tensor->shape.size() < 2) return Error{fmt::format("a tensor for \"{}\" is missing", name)};
  return tensor;
}

// Widths as the tensors have them.
Result<Layers> read_layers(const JsonFields& text, const WrittenNames& names) {
  Layers layers;
  TRY_ASSIGN(const int64_t count, text.integer("num_hidden_layers", 1, kMostWrittenLayers));
  TRY_ASSIGN(layers.heads, text.integer("num_attention_heads", 1, kMost));
  TRY_ASSIGN(layers.sliding, sliding_layers(text, count));
  for (int64_t i = 0; i < count; ++i) {
    const bool sliding = layers.sliding[static_cast<size_t>(i)];
    TRY_ASSIGN(const TensorView* queries, needed(names, fmt::format("blk.{}.attn_q.weight", i)));
    TRY_ASSIGN(const TensorView* down, needed(names, fmt::format("blk.{}.ffn_down.weight", i)));
    const int64_t dim = queries->shape[0] / layers.heads;
    (sliding ? layers.sliding_dim : layers.global_dim) = dim;
    TRY_ASSIGN(int64_t kv_heads, configured_kv_heads(text, i, sliding));
    if (const TensorView* own = names.find(fmt::format("blk.{}.attn_k.weight", i)); own != nullptr && dim > 0)
      kv_heads = own->shape[0] / dim;
    layers.kv_heads.push_back(static_cast<int32_t>(kv_heads));
    layers.ffn.push_back(static_cast<int32_t>(down->shape.back()));
  }
  if (layers.global_dim == 0) layers.global_dim = layers.sliding_dim;
  if (layers.sliding_dim == 0) layers.sliding_dim = layers.global_dim;
  return layers;
}

// One number where all are alike.
void add_each(const std::string& name, const std::vector<int32_t>& values, GgufKeys* keys) {
  if (std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end()) {
    keys->unsigned_integer(name, static_cast<uint32_t>(values.front()));
  } else {
    keys->integers(name, values);
  }
}

struct Rope {
  double global = 1e6, sliding = 1e4, share = 0.25;
};

Result<Rope> read_rope(const JsonFields& text) {
  Rope rope;
  TRY_ASSIGN(const auto both, text.object_if_any("rope_parameters"));
  if (!both) return rope;
  TRY_ASSIGN(const auto global, both->object_if_any("full_attention"));
  TRY_ASSIGN(const auto sliding, both->object_if_any("sliding_attention"));
  if (global) {
    TRY_ASSIGN(rope.global, global->number_or("rope_theta", rope.global, 1, 1e12));
    TRY_ASSIGN(rope.share, global->number_or("partial_rotary_factor", rope.share, 0, 1));
  }
  if (sliding) {
    TRY_ASSIGN(rope.sliding, sliding->number_or("rope_theta", rope.sliding, 1, 1e12));
  }
  return rope;
}

Status add_attention_keys(const Described& model, const Layers& layers, GgufKeys* keys) {
  const auto key = [&](const char* name) { return fmt::format("{}.{}", model.prefix, name); };
  const auto integer = [&](const char* name, int64_t value) {
    keys->unsigned_integer(key(name), static_cast<uint32_t>(value));
  };
  TRY_ASSIGN(const int64_t window, model.fields.integer("sliding_window", 1, kMost));
  TRY_ASSIGN(const int64_t shared, model.fields.integer_or("num_kv_shared_layers", 0, 0, kMostWrittenLayers));
  TRY_ASSIGN(const double epsilon, model.fields.number_or("rms_norm_eps", 1e-6, 1e-12, 1));
  TRY_ASSIGN(const Rope rope, read_rope(model.fields));
  integer("attention.head_count", layers.heads);
  add_each(key("attention.head_count_kv"), layers.kv_heads, keys);
  for (const char* name : {"attention.key_length", "attention.value_length", "rope.dimension_count"})
    integer(name, layers.global_dim);
  for (const char* name : {"attention.key_length_swa", "attention.value_length_swa", "rope.dimension_count_swa"})
    integer(name, layers.sliding_dim);
  keys->number(key("attention.layer_norm_rms_epsilon"), static_cast<float>(epsilon));
  integer("attention.sliding_window", window);
  keys->booleans(key("attention.sliding_window_pattern"), layers.sliding);
  integer("attention.shared_kv_layers", shared);
  keys->number(key("rope.freq_base"), static_cast<float>(rope.global));
  keys->number(key("rope.freq_base_swa"), static_cast<float>(rope.sliding));
  return Done{};
}

Status add_expert_keys(const Described& model, GgufKeys* keys) {
  TRY_ASSIGN(const int64_t experts, model.fields.integer_or("num_experts", 0, 0, kMost));
  if (experts == 0) return Done{};
  TRY_ASSIGN(const int64_t used, model.fields.integer("top_k_experts", 1, experts));
  TRY_ASSIGN(const int64_t width, model.fields.integer("moe_intermediate_size", 1, kMost));
  keys->unsigned_integer(model.prefix + ".expert_count", static_cast<uint32_t>(experts));
  keys->unsigned_integer(model.prefix + ".expert_used_count", static_cast<uint32_t>(used));
  keys->unsigned_integer(model.prefix + ".expert_feed_forward_length", static_cast<uint32_t>(width));
  return Done{};
}

}  // namespace

Result<int64_t> written_layers(const json::object& config) {
  TRY_ASSIGN(const Described model, described(config));
  return model.fields.integer("num_hidden_layers", 1, kMostWrittenLayers);
}

Status add_gemma4_keys(const json::object& config, const WrittenNames& names, GgufKeys* keys) {
  TRY_ASSIGN(const Described model, described(config));
  TRY_ASSIGN(const Layers layers, read_layers(model.fields, names));
  TRY_ASSIGN(const int64_t hidden, model.fields.integer("hidden_size", 2, kMost));
  TRY_ASSIGN(const int64_t context, model.fields.integer("max_position_embeddings", 1, kMost));
  TRY_ASSIGN(const int64_t per_layer, model.fields.integer_or("hidden_size_per_layer_input", 0, 0, kMost));
  TRY_ASSIGN(const double softcap, model.fields.number_or("final_logit_softcapping", 0, 0, 1e6));
  keys->text("general.architecture", model.prefix);
  const auto integer = [&](const char* name, int64_t value) {
    keys->unsigned_integer(fmt::format("{}.{}", model.prefix, name), static_cast<uint32_t>(value));
  };
  integer("block_count", static_cast<int64_t>(layers.sliding.size()));
  integer("context_length", context);
  integer("embedding_length", hidden);
  add_each(model.prefix + ".feed_forward_length", layers.ffn, keys);
  TRY(add_attention_keys(model, layers, keys));
  integer("embedding_length_per_layer_input", per_layer);
  if (softcap > 0) keys->number(model.prefix + ".final_logit_softcapping", static_cast<float>(softcap));
  TRY(add_expert_keys(model, keys));
  if (model.prefix == "gemma4") return Done{};
  TRY_ASSIGN(const int64_t backbone, JsonFields(config, "config.json").integer("backbone_hidden_size", 2, kMost));
  integer("embedding_length_out", backbone);
  integer("nextn_predict_layers", static_cast<int64_t>(layers.sliding.size()));
  return Done{};
}

Status add_gemma4_vision_keys(const json::object& config, GgufKeys* keys) {
  const JsonFields top(config, "config.json");
  TRY_ASSIGN(const auto vision, top.object_if_any("vision_config"));
  if (!vision) return top.wrong("vision_config", "an object, as there are tensors of a vision side");
  TRY_ASSIGN(const Described model, described(config));
  TRY_ASSIGN(const std::string type, vision->text_or("model_type", "gemma4_vision"));
  TRY_ASSIGN(const int64_t hidden, model.fields.integer("hidden_size", 2, kMost));
  TRY_ASSIGN(const int64_t patch, vision->integer_or("patch_size", 16, 1, 64));
  TRY_ASSIGN(const double epsilon, vision->number_or("rms_norm_eps", 1e-6, 1e-12, 1));
  const bool embedder = type == "gemma4_unified_vision";
  keys->text("general.architecture", "clip");
  keys->text("general.type", "mmproj");
  keys->boolean("clip.has_vision_encoder", true);
  keys->text("clip.vision.projector_type", embedder ? "gemma4uv" : "gemma4v");
  keys->unsigned_integer("clip.vision.patch_size", static_cast<uint32_t>(patch));
  keys->unsigned_integer("clip.vision.projection_dim", static_cast<uint32_t>(hidden));
  keys->unsigned_integer("clip.vision.image_size", 224);
  keys->number("clip.vision.attention.layer_norm_epsilon", static_cast<float>(epsilon));
  keys->numbers("clip.vision.image_mean", std::vector<float>(3, 0.0f));
  keys->numbers("clip.vision.image_std", std::vector<float>(3, 1.0f));
  if (embedder) return Done{};
  struct Renamed {
    const char *key, *name;
  };
  for (const Renamed& one : {Renamed{"embedding_length", "hidden_size"},
                             {"feed_forward_length", "intermediate_size"},
                             {"block_count", "num_hidden_layers"},
                             {"attention.head_count", "num_attention_heads"}}) {
    TRY_ASSIGN(const int64_t value, vision->integer(one.name, 1, kMost));
    keys->unsigned_integer(fmt::format("clip.vision.{}", one.key), static_cast<uint32_t>(value));
  }
  return Done{};
}

Result<std::vector<float>> written_rope_factors(const json::object& config, const WrittenNames& names) {
  constexpr float kStill = 1e30f;
  TRY_ASSIGN(const Described model, described(config));
  TRY_ASSIGN(const Layers layers, read_layers(model.fields, names));
  TRY_ASSIGN(const Rope rope, read_rope(model.fields));
  const auto pairs = static_cast<size_t>(layers.global_dim / 2);
  const auto turning = static_cast<size_t>(rope.share * static_cast<double>(layers.global_dim) / 2);
  std::vector<float> factors(pairs, kStill);
  std::fill_n(factors.begin(), std::min(turning, pairs), 1.0f);
  return factors;
}

}  // namespace paceline
