#include "model/gemma4/layer_config_reader.h"

#include <fmt/format.h>

#include <charconv>

#include "kernels/ops.h"

namespace paceline {
namespace {

namespace json = boost::json;

constexpr int64_t kMaxLayers = 1024;
constexpr int64_t kMaxFfn = 1 << 20;
// Where layer_types is absent, every sixth layer is global.
constexpr int32_t kDefaultPattern = 6;

Result<LayerKind> kind_named(const JsonFields& text, const json::value& value, size_t layer) {
  if (value.is_string() && value.get_string() == "sliding_attention") return LayerKind::sliding;
  if (value.is_string() && value.get_string() == "full_attention") return LayerKind::global;
  return Error{fmt::format("{}[{}]: expected \"sliding_attention\" or \"full_attention\", found {}",
                           text.path_of("layer_types"), layer, json_text(value))};
}

Status read_kinds(const JsonFields& text, std::vector<LayerConfig>* layers) {
  const json::value* types = text.find("layer_types");
  if (types == nullptr) {
    for (size_t i = 0; i < layers->size(); ++i) {
      (*layers)[i].kind = (i + 1) % kDefaultPattern == 0 ? LayerKind::global : LayerKind::sliding;
    }
  } else {
    if (!types->is_array() || types->get_array().size() != layers->size()) {
      return text.wrong("layer_types", fmt::format("an array of {}, one per layer", layers->size()));
    }
    for (size_t i = 0; i < layers->size(); ++i) {
      TRY_ASSIGN((*layers)[i].kind, kind_named(text, types->get_array()[i], i));
    }
  }
  // The reference makes the last layer global whatever the list says.
  layers->back().kind = LayerKind::global;
  return Done{};
}

Status check_head_dim(const std::string& path, int32_t head_dim) {
  if (head_dim % 2 == 0) return Done{};
  return Error{fmt::format("{}: expected an even number, as RoPE turns pairs, found {}", path, head_dim)};
}

// The older spelling: one value for all global layers.
Status read_uniform_heads(const JsonFields& text, bool global_value_is_key, std::vector<LayerConfig>* layers) {
  TRY_ASSIGN(const int64_t head_dim, text.integer_or("head_dim", 256, 2, kernels::kMaxHeadDim));
  TRY_ASSIGN(const int64_t kv_heads, text.integer("num_key_value_heads", 1, kMaxHeads));
  TRY_ASSIGN(const int64_t global_head_dim, text.integer_or("global_head_dim", head_dim, 2, kernels::kMaxHeadDim));
  TRY_ASSIGN(int64_t global_kv_heads, text.integer_or("num_global_key_value_heads", kv_heads, 1, kMaxHeads));
  // The reference looks at it only where V is K.
  if (!global_value_is_key) global_kv_heads = kv_heads;
  TRY(check_head_dim(text.path_of("head_dim"), static_cast<int32_t>(head_dim)));
  TRY(check_head_dim(text.path_of("global_head_dim"), static_cast<int32_t>(global_head_dim)));
  for (LayerConfig& layer : *layers) {
    const bool global = layer.kind == LayerKind::global;
    layer.head_dim = static_cast<int32_t>(global ? global_head_dim : head_dim);
    layer.kv_heads = static_cast<int32_t>(global ? global_kv_heads : kv_heads);
    layer.value_is_key = global && global_value_is_key;
  }
  return Done{};
}

// "05" → 5: decimal digits, zero-padded or not.
Result<size_t> layer_number(const JsonFields& map, std::string_view key, size_t layer_count) {
  size_t number = 0;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), number);
  if (error != std::errc() || end != key.data() + key.size() || number >= layer_count) {
    return Error{fmt::format("{}: expected a layer number below {}", map.path_of(key), layer_count)};
  }
  return number;
}

// The newer spelling: the layers that differ, by number.
Status read_per_layer(const JsonFields& text, std::vector<LayerConfig>* layers) {
  TRY_ASSIGN(const auto map, text.object_if_any("per_layer_config"));
  if (!map) return Done{};
  for (const auto& [key, value] : map->object()) {
    const std::string_view name(key.data(), key.size());
    TRY_ASSIGN(const size_t number, layer_number(*map, name, layers->size()));
    TRY_ASSIGN(const auto entry, map->object_if_any(name));
    if (!entry) continue;
    LayerConfig& layer = (*layers)[number];
    TRY_ASSIGN(const int64_t head_dim, entry->integer_or("head_dim", layer.head_dim, 2, kernels::kMaxHeadDim));
    TRY_ASSIGN(const int64_t kv_heads, entry->integer_or("num_key_value_heads", layer.kv_heads, 1, kMaxHeads));
    layer.head_dim = static_cast<int32_t>(head_dim);
    layer.kv_heads = static_cast<int32_t>(kv_heads);
    TRY(check_head_dim(entry->path_of("head_dim"), layer.head_dim));
  }
  return Done{};
}

Result<int32_t> last_owner(const JsonFields& text, const std::vector<LayerConfig>& layers, size_t first_shared,
                           const LayerConfig& reader) {
  for (size_t i = first_shared; i-- > 0;) {
    const LayerConfig& owner = layers[i];
    if (owner.kind != reader.kind) continue;
    if (owner.head_dim != reader.head_dim || owner.kv_heads != reader.kv_heads) {
      return Error{fmt::format("{}: layer {} has {} KV heads of {}, but a layer that would read them has {} of {}",
                               text.path_of("num_kv_shared_layers"), i, owner.kv_heads, owner.head_dim, reader.kv_heads,
                               reader.head_dim)};
    }
    return static_cast<int32_t>(i);
  }
  return Error{fmt::format("{}: expected a {} layer before the shared ones, found none",
                           text.path_of("num_kv_shared_layers"),
                           reader.kind == LayerKind::global ? "full_attention" : "sliding_attention")};
}

Status share_kv(const JsonFields& text, KvSource source, std::vector<LayerConfig>* layers) {
  const auto count = static_cast<int64_t>(layers->size());
  TRY_ASSIGN(const int64_t shared, text.integer_or("num_kv_shared_layers", 0, 0, count));
  TRY_ASSIGN(const bool double_wide, text.boolean_or("use_double_wide_mlp", false));
  const auto first_shared = static_cast<size_t>(count - shared);
  for (size_t i = 0; i < layers->size(); ++i) {
    LayerConfig& layer = (*layers)[i];
    layer.kv_layer = static_cast<int32_t>(i);
    if (i < first_shared) continue;
    if (double_wide) layer.ffn *= 2;
    if (source == KvSource::target) {
      layer.kv_layer = -1;
    } else {
      TRY_ASSIGN(layer.kv_layer, last_owner(text, *layers, first_shared, layer));
    }
  }
  return Done{};
}

}  // namespace

Status read_layers(const JsonFields& text, KvSource source, Gemma4Config* config) {
  TRY_ASSIGN(const int64_t count, text.integer("num_hidden_layers", 1, kMaxLayers));
  TRY_ASSIGN(const int64_t ffn, text.integer("intermediate_size", 1, kMaxFfn));
  TRY_ASSIGN(const bool value_is_key, text.boolean_or("attention_k_eq_v", false));
  auto& layers = config->layers;
  layers.assign(static_cast<size_t>(count), LayerConfig{});
  for (LayerConfig& layer : layers) layer.ffn = static_cast<int32_t>(ffn);
  TRY(read_kinds(text, &layers));
  TRY(read_uniform_heads(text, value_is_key, &layers));
  TRY(read_per_layer(text, &layers));
  TRY(share_kv(text, source, &layers));
  for (const LayerConfig& layer : layers) {
    if (config->heads % layer.kv_heads != 0) {
      return Error{fmt::format("{}: expected a multiple of the {} KV heads, found {}",
                               text.path_of("num_attention_heads"), layer.kv_heads, config->heads)};
    }
  }
  return Done{};
}

}  // namespace paceline
