// gemma4's and gemma4-assistant's metadata as config.json.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <limits>

#include "weights/gguf/gguf_words.h"

namespace paceline {
namespace {

namespace json = boost::json;

// As the family's reader has them (model/gemma4/config_reader.cc).
constexpr int64_t kMostLayers = 1024, kMostWidth = 1 << 16, kMostFfn = 1 << 20, kMostHeads = 1024, kMostHeadDim = 512;
constexpr int64_t kMostContext = 1 << 27, kMostExperts = 4096, kMostPle = 1 << 14;

// Keys after "gemma4." or what the architecture calls itself.
class Gemma4Keys {
 public:
  Gemma4Keys(const GgufFiles& files, std::string prefix) : files_(files), prefix_(std::move(prefix)) {}

  [[nodiscard]] const GgufFiles& files() const { return files_; }
  [[nodiscard]] const GgufMetadata& metadata() const { return files_.metadata(); }
  [[nodiscard]] std::string key(std::string_view name) const { return fmt::format("{}.{}", prefix_, name); }
  [[nodiscard]] bool has(std::string_view name) const { return metadata().has(key(name)); }
  [[nodiscard]] Result<int64_t> integer(std::string_view name, int64_t least, int64_t most) const {
    return metadata().integer(key(name), least, most);
  }
  [[nodiscard]] Result<int64_t> integer_or(std::string_view name, int64_t otherwise, int64_t least,
                                           int64_t most) const {
    return metadata().integer_or(key(name), otherwise, least, most);
  }

 private:
  const GgufFiles& files_;
  std::string prefix_;
};

struct LayerForms {
  size_t count = 0;
  int64_t shared = 0;
  std::vector<bool> sliding;
  std::vector<int64_t> kv_heads, ffn;
};

Result<LayerForms> read_forms(const Gemma4Keys& keys) {
  LayerForms forms;
  TRY_ASSIGN(const int64_t count, keys.integer("block_count", 1, kMostLayers));
  forms.count = static_cast<size_t>(count);
  TRY_ASSIGN(forms.shared, keys.integer_or("attention.shared_kv_layers", 0, 0, count));
  TRY_ASSIGN(forms.sliding, keys.metadata().booleans(keys.key("attention.sliding_window_pattern"), forms.count));
  TRY_ASSIGN(forms.kv_heads, keys.metadata().integers(keys.key("attention.head_count_kv"), forms.count, 1, kMostHeads));
  TRY_ASSIGN(forms.ffn, keys.metadata().integers(keys.key("feed_forward_length"), forms.count, 1, kMostFfn));
  return forms;
}

// One width, or twice that in the layers that share keys and values.
Status add_ffn(const Gemma4Keys& keys, const LayerForms& forms, json::object* text) {
  const int64_t width = forms.ffn.front();
  const size_t first_shared = forms.count - static_cast<size_t>(forms.shared);
  const bool doubles = std::any_of(forms.ffn.begin(), forms.ffn.end(), [&](int64_t one) { return one != width; });
  for (size_t i = 0; i < forms.count; ++i) {
    const int64_t expected = doubles && i >= first_shared ? 2 * width : width;
    if (forms.ffn[i] == expected) continue;
    return keys.metadata().wrong(keys.key("feed_forward_length"),
                                 fmt::format("{} for layer {}, and not {}", expected, i, forms.ffn[i]));
  }
  (*text)["intermediate_size"] = width;
  (*text)["use_double_wide_mlp"] = doubles;
  return Done{};
}

Status add_heads(const Gemma4Keys& keys, const LayerForms& forms, json::object* text) {
  TRY_ASSIGN(const int64_t heads, keys.integer("attention.head_count", 1, kMostHeads));
  TRY_ASSIGN(const int64_t global, keys.integer("attention.key_length", 2, kMostHeadDim));
  TRY_ASSIGN(const int64_t sliding, keys.integer_or("attention.key_length_swa", global, 2, kMostHeadDim));
  // What is the same thing everywhere in the family.
  TRY(keys.integer_or("attention.value_length", global, global, global));
  TRY(keys.integer_or("attention.value_length_swa", sliding, sliding, sliding));
  TRY(keys.integer_or("rope.dimension_count", global, global, global));
  TRY(keys.integer_or("rope.dimension_count_swa", sliding, sliding, sliding));
  json::array types;
  json::object by_layer;
  for (size_t i = 0; i < forms.count; ++i) {
    types.push_back(forms.sliding[i] ? "sliding_attention" : "full_attention");
    by_layer[std::to_string(i)] =
        json::object{{"head_dim", forms.sliding[i] ? sliding : global}, {"num_key_value_heads", forms.kv_heads[i]}};
  }
  (*text)["num_attention_heads"] = heads;
  (*text)["num_key_value_heads"] = forms.kv_heads.front();
  (*text)["head_dim"] = sliding;
  (*text)["layer_types"] = std::move(types);
  (*text)["per_layer_config"] = std::move(by_layer);
  return Done{};
}

// V is the raw K projection where a global layer with keys of its own has no attn_v: all of them, or none.
Status add_value_is_key(const Gemma4Keys& keys, const LayerForms& forms, json::object* text) {
  size_t with = 0, without = 0;
  for (size_t i = 0; i < forms.count - static_cast<size_t>(forms.shared); ++i) {
    if (forms.sliding[i]) continue;
    ++(keys.files().has(fmt::format("blk.{}.attn_v.weight", i)) ? with : without);
  }
  if (with > 0 && without > 0)
    return Error{
        fmt::format("expected attn_v in all global layers or in none, found it in {} of {}", with, with + without)};
  (*text)["attention_k_eq_v"] = with == 0;
  return Done{};
}

// rope_freqs has 1 for the pairs that turn and 1e30 for the rest, in global layers.
Result<double> rotated_share(const GgufFiles& files) {
  constexpr double kFamilys = 0.25;
  constexpr float kStill = 1e29f;
  const GgufTensor* tensor = files.find("rope_freqs.weight");
  if (tensor == nullptr) return kFamilys;
  TRY_ASSIGN(const std::vector<float> factors, gguf_floats(files, *tensor));
  const auto still = std::find_if(factors.begin(), factors.end(), [&](float f) { return f != 1.0f; });
  if (!std::all_of(still, factors.end(), [&](float f) { return f >= kStill; }))
    return Error{"tensor \"rope_freqs.weight\": expected ones, and behind them numbers of 1e30"};
  return static_cast<double>(still - factors.begin()) / static_cast<double>(factors.size());
}

Status add_rope(const Gemma4Keys& keys, json::object* text) {
  TRY_ASSIGN(const double global, keys.metadata().number_or(keys.key("rope.freq_base"), 1e6, 1, 1e12));
  TRY_ASSIGN(const double sliding, keys.metadata().number_or(keys.key("rope.freq_base_swa"), 1e4, 1, 1e12));
  TRY_ASSIGN(const double share, rotated_share(keys.files()));
  (*text)["rope_parameters"] = {
      {"full_attention", {{"rope_type", "proportional"}, {"rope_theta", global}, {"partial_rotary_factor", share}}},
      {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", sliding}}}};
  return Done{};
}

Status add_gemma4_experts(const Gemma4Keys& keys, json::object* text) {
  TRY_ASSIGN(const int64_t experts, keys.integer_or("expert_count", 0, 0, kMostExperts));
  (*text)["enable_moe_block"] = experts > 0;
  if (experts == 0) return Done{};
  (*text)["num_experts"] = experts;
  TRY_ASSIGN((*text)["top_k_experts"], keys.integer("expert_used_count", 1, experts));
  TRY_ASSIGN((*text)["moe_intermediate_size"], keys.integer("expert_feed_forward_length", 1, kMostFfn));
  return Done{};
}

Result<json::object> text_config(const Gemma4Keys& keys) {
  json::object text;
  TRY_ASSIGN(const LayerForms forms, read_forms(keys));
  TRY_ASSIGN(const int64_t rows, gguf_vocabulary_rows(keys.files()));
  TRY_ASSIGN(text["hidden_size"], keys.integer("embedding_length", 2, kMostWidth));
  TRY_ASSIGN(text["max_position_embeddings"], keys.integer("context_length", 1, kMostContext));
  // A window that no text can fill is as wide as any other such.
  TRY_ASSIGN(const int64_t window, keys.integer("attention.sliding_window", 1, std::numeric_limits<int64_t>::max()));
  TRY_ASSIGN(text["rms_norm_eps"],
             keys.metadata().number_or(keys.key("attention.layer_norm_rms_epsilon"), 1e-6, 1e-12, 1));
  TRY_ASSIGN(text["final_logit_softcapping"],
             keys.metadata().number_or(keys.key("final_logit_softcapping"), 0, 0, 1e6));
  TRY_ASSIGN(text["hidden_size_per_layer_input"], keys.integer_or("embedding_length_per_layer_input", 0, 0, kMostPle));
  text["model_type"] = "gemma4_text";
  text["sliding_window"] = std::min(window, kMostContext);
  text["num_hidden_layers"] = forms.count;
  text["num_kv_shared_layers"] = forms.shared;
  text["vocab_size"] = rows;
  text["vocab_size_per_layer_input"] = rows;
  text["tie_word_embeddings"] = !keys.files().has("output.weight");
  TRY(add_ffn(keys, forms, &text));
  TRY(add_heads(keys, forms, &text));
  TRY(add_value_is_key(keys, forms, &text));
  TRY(add_rope(keys, &text));
  TRY(add_gemma4_experts(keys, &text));
  return text;
}

void add_id(const GgufVocabulary& vocabulary, const char* name, std::string_view piece, json::object* config) {
  if (const int64_t id = vocabulary.id_of(piece); id >= 0) (*config)[name] = id;
}

// Places of media, which no file of this format names; they are never written by the model, pictures or not.
void add_media_ids(const GgufVocabulary& vocabulary, json::object* config) {
  add_id(vocabulary, "boi_token_id", "<|image>", config);
  add_id(vocabulary, "image_token_id", "<|image|>", config);
  add_id(vocabulary, "eoi_token_id", "<image|>", config);
  add_id(vocabulary, "boa_token_id", "<|audio>", config);
  add_id(vocabulary, "audio_token_id", "<|audio|>", config);
  add_id(vocabulary, "eoa_token_id", "<audio|>", config);
  add_id(vocabulary, "video_token_id", "<|video|>", config);
}

// The file names one id that stops; the family has more.
json::array stop_ids(const GgufVocabulary& vocabulary) {
  json::array ids;
  const auto add = [&](int64_t id) {
    if (id >= 0 && std::find(ids.begin(), ids.end(), json::value(id)) == ids.end()) ids.push_back(id);
  };
  add(vocabulary.named_id("eos_token_id"));
  add(vocabulary.named_id("eot_token_id"));
  for (const char* piece : {"<turn|>", "<|tool_response>"}) add(vocabulary.id_of(piece));
  return ids;
}

}  // namespace

Result<GgufConfigs> gemma4_gguf_configs(const GgufParts& parts, const GgufVocabulary& vocabulary) {
  TRY_ASSIGN(json::object text, text_config(Gemma4Keys(*parts.model, "gemma4")));
  GgufConfigs made;
  json::object& config = made.config;
  for (const auto& [key, name] : {std::pair("bos_token_id", "bos_token_id"), {"padding_token_id", "pad_token_id"}})
    if (const int64_t id = vocabulary.named_id(key); id >= 0) config[name] = id;
  add_media_ids(vocabulary, &config);
  config["model_type"] = "gemma4_text";
  if (parts.vision != nullptr) {
    TRY_ASSIGN(json::object vision, gemma4_vision_gguf_config(*parts.vision));
    const bool unified = vision["model_type"] == "gemma4_unified_vision";
    config["model_type"] = unified ? "gemma4_unified" : "gemma4";
    // Those without per-layer embeddings.
    if (text["hidden_size_per_layer_input"] == 0) text["use_bidirectional_attention"] = "vision";
    config["vision_config"] = std::move(vision);
  }
  config["tie_word_embeddings"] = text["tie_word_embeddings"];
  config["text_config"] = std::move(text);
  TRY_ASSIGN(made.generation, gguf_sampling(parts.model->metadata()));
  if (json::array stops = stop_ids(vocabulary); !stops.empty()) made.generation["eos_token_id"] = std::move(stops);
  TRY_ASSIGN(const auto never, parts.model->metadata().integer_list("tokenizer.ggml.suppress_tokens", 0,
                                                                    static_cast<int64_t>(vocabulary.size()) - 1));
  if (!never.empty()) made.generation["suppress_tokens"] = json::array(never.begin(), never.end());
  return made;
}

// Written with a hyphen, or before that with an underscore.
Result<json::object> gemma4_assistant_gguf_config(const GgufFiles& files) {
  const bool hyphen = files.metadata().has("gemma4-assistant.block_count");
  const Gemma4Keys keys(files, hyphen ? "gemma4-assistant" : "gemma4_assistant");
  TRY_ASSIGN(json::object text, text_config(keys));
  // Its layers read the target's keys, and have none.
  const json::value layers = text["num_hidden_layers"];
  text["num_kv_shared_layers"] = layers;
  json::object config{{"model_type", "gemma4_assistant"}, {"use_ordered_embeddings", false}};
  TRY_ASSIGN(config["backbone_hidden_size"], keys.integer("embedding_length_out", 2, kMostWidth));
  config["tie_word_embeddings"] = text["tie_word_embeddings"];
  config["text_config"] = std::move(text);
  return config;
}

}  // namespace paceline
