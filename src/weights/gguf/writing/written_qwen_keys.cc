#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>

#include "weights/gguf/writing/written_qwen.h"
#include "weights/json_fields.h"

namespace paceline {
namespace {

namespace json = boost::json;

constexpr int64_t kMostQwen = std::numeric_limits<int32_t>::max(), kMostQwenKeyLayers = 1024;

struct QwenType {
  std::string_view model_type, architecture;
};
constexpr std::array<QwenType, 6> kQwenTypes = {QwenType{"qwen3", "qwen3"},   {"qwen3_moe", "qwen3moe"},
                                                {"qwen3_5", "qwen35"},        {"qwen3_5_text", "qwen35"},
                                                {"qwen3_5_moe", "qwen35moe"}, {"qwen3_5_moe_text", "qwen35moe"}};

std::string_view qwen_architecture(const json::object& config) {
  const json::value* type = config.if_contains("model_type");
  if (type == nullptr || !type->is_string()) return {};
  for (const QwenType& known : kQwenTypes)
    if (type->get_string() == known.model_type) return known.architecture;
  return {};
}

// The text's fields, in a section of their own or at the top.
Result<JsonFields> qwen_text(const json::object& config) {
  const JsonFields top(config, "config.json");
  TRY_ASSIGN(const auto text, top.object_if_any("text_config"));
  return text ? *text : top;
}

// Keys of one architecture, each from a field of config.json.
struct QwenWriter {
  const JsonFields& text;
  const QwenForm& form;
  GgufKeys* keys;

  [[nodiscard]] std::string key(std::string_view name) const { return fmt::format("{}.{}", form.architecture, name); }
  void integer(std::string_view name, int64_t value) const {
    keys->unsigned_integer(key(name), static_cast<uint32_t>(value));
  }
  Status field(std::string_view name, std::string_view from) const {
    TRY_ASSIGN(const int64_t value, text.integer(from, 1, kMostQwen));
    integer(name, value);
    return Done{};
  }
};

Result<int64_t> qwen_head_dim(const JsonFields& text) {
  TRY_ASSIGN(const int64_t hidden, text.integer("hidden_size", 2, kMostQwen));
  TRY_ASSIGN(const int64_t heads, text.integer("num_attention_heads", 1, kMostQwen));
  return text.integer_or("head_dim", hidden / heads, 2, kMostQwen);
}

// Three sections of a picture's positions, which readers of the format expect four of.
std::vector<int32_t> qwen_sections(const std::optional<JsonFields>& rope) {
  std::vector<int32_t> sections = {11, 11, 10};
  const json::value* given = rope ? rope->find("mrope_section") : nullptr;
  if (given != nullptr && given->is_array()) {
    sections.clear();
    for (const json::value& one : given->get_array())
      sections.push_back(static_cast<int32_t>(json_integer(one).value_or(0)));
  }
  sections.resize(4, 0);
  return sections;
}

Status add_qwen_yarn(const QwenWriter& to, const JsonFields& rope) {
  TRY_ASSIGN(const std::string older, rope.text_or("type", "default"));
  TRY_ASSIGN(const std::string type, rope.text_or("rope_type", older));
  if (type == "default") return Done{};
  if (type != "yarn") return rope.wrong("rope_type", "\"default\" or \"yarn\"");
  for (const char* name : {"attention_factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim", "truncate"})
    if (rope.find(name) != nullptr) return rope.wrong(name, "none, as GGUF is written without");
  TRY_ASSIGN(const double factor, rope.number_or("factor", 1, 1, 1e6));
  to.keys->text(to.key("rope.scaling.type"), "yarn");
  to.keys->number(to.key("rope.scaling.factor"), static_cast<float>(factor));
  if (rope.find("original_max_position_embeddings") == nullptr) return Done{};
  TRY_ASSIGN(const int64_t before, rope.integer("original_max_position_embeddings", 1, kMostQwen));
  to.integer("rope.scaling.original_context_length", before);
  return Done{};
}

Status add_qwen_rope_keys(const QwenWriter& to) {
  TRY_ASSIGN(double theta, to.text.number_or("rope_theta", 1e4, 1, 1e12));
  TRY_ASSIGN(double share, to.text.number_or("partial_rotary_factor", to.form.recurrent() ? 0.25 : 1.0, 0, 1));
  TRY_ASSIGN(auto rope, to.text.object_if_any("rope_parameters"));
  if (!rope) {
    TRY_ASSIGN(rope, to.text.object_if_any("rope_scaling"));
  }
  if (rope) {
    TRY_ASSIGN(theta, rope->number_or("rope_theta", theta, 1, 1e12));
    TRY_ASSIGN(share, rope->number_or("partial_rotary_factor", share, 0, 1));
    TRY(add_qwen_yarn(to, *rope));
  }
  to.keys->number(to.key("rope.freq_base"), static_cast<float>(theta));
  TRY_ASSIGN(const int64_t dim, qwen_head_dim(to.text));
  to.integer("rope.dimension_count", static_cast<int64_t>(share * static_cast<double>(dim)));
  if (to.form.recurrent()) to.keys->integers(to.key("rope.dimension_sections"), qwen_sections(rope));
  return Done{};
}

// The format takes for granted that every layer has experts, and shares that sum up to one.
Status add_qwen_expert_keys(const QwenWriter& to) {
  if (to.form.experts == 0) return Done{};
  TRY_ASSIGN(const bool sums, to.text.boolean_or("norm_topk_prob", to.form.recurrent()));
  if (!sums) return to.text.wrong("norm_topk_prob", "true, as GGUF has no word for it");
  TRY(to.text.integer_or("decoder_sparse_step", 1, 1, 1));
  const json::value* dense = to.text.find("mlp_only_layers");
  if (dense != nullptr && (!dense->is_array() || !dense->get_array().empty()))
    return to.text.wrong("mlp_only_layers", "none, as GGUF has no word for them");
  to.integer("expert_count", to.form.experts);
  TRY(to.field("expert_used_count", "num_experts_per_tok"));
  TRY(to.field("expert_feed_forward_length", "moe_intermediate_size"));
  if (!to.form.recurrent()) return Done{};
  return to.field("expert_shared_feed_forward_length", "shared_expert_intermediate_size");
}

// All but every so many, or a list where that is not it; the drafter's layer has attention.
Status add_qwen_mixer_keys(const QwenWriter& to) {
  TRY_ASSIGN(int64_t interval, to.text.integer_or("full_attention_interval", 4, 1, kMostQwenKeyLayers));
  std::vector<bool> recurrent(static_cast<size_t>(to.form.layers.text + to.form.layers.drafter), false);
  const auto layers = static_cast<size_t>(to.form.layers.text);
  const json::value* types = to.text.find("layer_types");
  if (types != nullptr && (!types->is_array() || types->get_array().size() != layers))
    return to.text.wrong("layer_types", fmt::format("a list of {}", layers));
  bool regular = true;
  for (size_t i = 0; i < layers; ++i) {
    const bool usual = (i + 1) % static_cast<size_t>(interval) != 0;
    recurrent[i] = types == nullptr ? usual : types->get_array()[i] == "linear_attention";
    regular = regular && recurrent[i] == usual;
  }
  if (regular) {
    to.integer("full_attention_interval", interval);
  } else {
    to.keys->booleans(to.key("attention.recurrent_layers"), recurrent);
  }
  return Done{};
}

Status add_qwen_delta_keys(const QwenWriter& to) {
  if (!to.form.recurrent()) return Done{};
  TRY_ASSIGN(const int64_t kernel, to.text.integer_or("linear_conv_kernel_dim", 4, 2, 64));
  to.integer("ssm.conv_kernel", kernel);
  to.integer("ssm.state_size", to.form.key_dim);
  to.integer("ssm.group_count", to.form.key_heads);
  to.integer("ssm.time_step_rank", to.form.value_heads);
  to.integer("ssm.inner_size", to.form.value_heads * to.form.value_dim);
  TRY(add_qwen_mixer_keys(to));
  if (to.form.layers.drafter > 0) to.integer("nextn_predict_layers", to.form.layers.drafter);
  return Done{};
}

}  // namespace

bool is_written_qwen(const json::object& config) { return !qwen_architecture(config).empty(); }

Result<QwenForm> QwenForm::of(const Checkpoint& checkpoint, const json::object& config) {
  QwenForm form;
  form.architecture = qwen_architecture(config);
  TRY_ASSIGN(const JsonFields text, qwen_text(config));
  TRY_ASSIGN(form.layers.text, text.integer("num_hidden_layers", 1, kMostQwenKeyLayers));
  TRY_ASSIGN(const bool text_tied, text.boolean_or("tie_word_embeddings", false));
  TRY_ASSIGN(form.tied, JsonFields(config, "config.json").boolean_or("tie_word_embeddings", text_tied));
  if (form.architecture.ends_with("moe")) {
    const char* const name = text.find("num_experts") == nullptr ? "num_local_experts" : "num_experts";
    TRY_ASSIGN(form.experts, text.integer(name, 1, kMostQwen));
  }
  if (!form.architecture.starts_with("qwen35")) return form;
  TRY_ASSIGN(form.key_heads, text.integer_or("linear_num_key_heads", 16, 1, kMostQwenKeyLayers));
  TRY_ASSIGN(form.value_heads, text.integer_or("linear_num_value_heads", 32, 1, kMostQwenKeyLayers));
  TRY_ASSIGN(form.key_dim, text.integer_or("linear_key_head_dim", 128, 1, 1 << 16));
  TRY_ASSIGN(form.value_dim, text.integer_or("linear_value_head_dim", 128, 1, 1 << 16));
  if (form.value_heads % form.key_heads != 0)
    return text.wrong("linear_num_value_heads", fmt::format("a multiple of {}", form.key_heads));
  if (checkpoint.find("mtp.fc.weight") != nullptr) {
    TRY_ASSIGN(form.layers.drafter, text.integer_or("mtp_num_hidden_layers", 1, 1, 1));
  }
  return form;
}

Status add_qwen_keys(const json::object& config, const QwenForm& form, GgufKeys* keys) {
  TRY_ASSIGN(const JsonFields text, qwen_text(config));
  const QwenWriter to{text, form, keys};
  keys->text("general.architecture", form.architecture);
  to.integer("block_count", form.layers.text + form.layers.drafter);
  TRY_ASSIGN(const int64_t context, text.integer_or("max_position_embeddings", 32768, 1, kMostQwen));
  to.integer("context_length", context);
  TRY(to.field("embedding_length", "hidden_size"));
  if (form.experts == 0 || text.find("intermediate_size") != nullptr)
    TRY(to.field("feed_forward_length", "intermediate_size"));
  TRY_ASSIGN(const int64_t heads, text.integer("num_attention_heads", 1, kMostQwen));
  TRY_ASSIGN(const int64_t kv_heads, text.integer_or("num_key_value_heads", heads, 1, heads));
  TRY_ASSIGN(const int64_t dim, qwen_head_dim(text));
  TRY_ASSIGN(const double epsilon, text.number_or("rms_norm_eps", 1e-6, 1e-12, 1));
  to.integer("attention.head_count", heads);
  to.integer("attention.head_count_kv", kv_heads);
  to.integer("attention.key_length", dim);
  to.integer("attention.value_length", dim);
  keys->number(to.key("attention.layer_norm_rms_epsilon"), static_cast<float>(epsilon));
  TRY(add_qwen_rope_keys(to));
  TRY(add_qwen_expert_keys(to));
  return add_qwen_delta_keys(to);
}

}  // namespace paceline
