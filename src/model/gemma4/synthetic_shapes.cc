// The named shapes: the family's five sizes, small ones for processors, and their drafters.
#include <string>

#include "model/gemma4/mtp_binding.h"
#include "model/gemma4/synthetic.h"

namespace paceline {
namespace {

// What tells the named shapes apart. Head dims are sliding / global.
struct Shape {
  std::string_view name;
  const char* model_type;
  int32_t layers, hidden, ffn, heads, kv_sliding, kv_global, head_sliding, head_global;
  int32_t per_global;  // every so many layers one is global
  int32_t window, context, vocab;
  int32_t shared;  // last layers that share KV, with a double-wide FFN where the shape says so
  bool double_wide, value_is_key;
  int32_t ple;
  int32_t experts, top, expert_ffn;
};

constexpr int32_t kVocab = 262144;
constexpr Shape kShapes[] = {
    {"e2b", "gemma4", 35, 1536, 6144, 8, 1, 1, 256, 512, 5, 512, 131072, kVocab, 20, true, false, 256, 0, 0, 0},
    {"e4b", "gemma4", 42, 2560, 10240, 8, 2, 2, 256, 512, 6, 512, 131072, kVocab, 18, false, false, 256, 0, 0, 0},
    {"12b", "gemma4_unified", 48, 3840, 15360, 16, 8, 1, 256, 512, 6, 1024, 262144, kVocab, 0, false, true, 0, 0, 0, 0},
    {"26b-a4b", "gemma4", 30, 2816, 2112, 16, 8, 2, 256, 512, 6, 1024, 262144, kVocab, 0, false, true, 0, 128, 8, 704},
    {"31b", "gemma4", 60, 5376, 21504, 32, 16, 4, 256, 512, 6, 1024, 262144, kVocab, 0, false, true, 0, 0, 0, 0},
    {"dense-220m", "gemma4_text", 12,    1024, 4096,  8,     2, 2, 128, 256, 6,
     512,          131072,        32768, 0,    false, false, 0, 0, 0,   0},
    {"dense-38m", "gemma4_text", 12, 512, 1408, 8, 2, 1, 64, 128, 6, 512, 4096, 8192, 0, false, true, 0, 0, 0, 0},
    {"moe-710m", "gemma4_text", 12,    1024, 1024,  8,     2, 2,  128, 256, 6,
     512,        131072,        32768, 0,    false, false, 0, 32, 4,   512},
    {"slice-12b", "gemma4_unified", 6,     3840, 15360, 16,   8, 1, 256, 512, 6,
     1024,        262144,           65536, 0,    false, true, 0, 0, 0,   0},
};

// The shapes' drafters.
struct MtpShape {
  std::string_view name;
  const char* model_type;
  int32_t hidden, ffn, heads;
  int32_t centroids, top;  // 0: every token is scored
};

constexpr MtpShape kMtpShapes[] = {
    {"e2b", "gemma4_assistant", 256, 2048, 4, 2048, 32},
    {"e4b", "gemma4_assistant", 256, 2048, 4, 2048, 32},
    {"12b", "gemma4_unified_assistant", 1024, 8192, 16, 0, 0},
    {"26b-a4b", "gemma4_assistant", 1024, 8192, 16, 0, 0},
    {"31b", "gemma4_assistant", 1024, 8192, 32, 0, 0},
    {"dense-220m", "gemma4_assistant", 256, 2048, 4, 0, 0},
    {"dense-38m", "gemma4_assistant", 256, 512, 4, 0, 0},
    {"moe-710m", "gemma4_assistant", 256, 2048, 4, 0, 0},
    {"slice-12b", "gemma4_unified_assistant", 1024, 8192, 16, 0, 0},
};

Gemma4Config config_of(const Shape& shape) {
  Gemma4Config c;
  c.model_type = shape.model_type;
  c.hidden = shape.hidden;
  c.heads = shape.heads;
  c.vocab = shape.vocab;
  c.window = shape.window;
  c.context = shape.context;
  c.softcap = 30;
  c.rope_sliding = {10000.0, 1.0};
  c.rope_global = {1000000.0, 0.25};
  c.experts = shape.experts;
  c.experts_per_token = shape.top;
  c.expert_ffn = shape.expert_ffn;
  c.ple_width = shape.ple;
  c.ple_vocab = shape.ple > 0 ? shape.vocab : 0;
  const int32_t first_shared = shape.layers - shape.shared;
  int32_t last_of_kind[2] = {0, 0};
  for (int32_t i = 0; i < shape.layers; ++i) {
    const bool global = (i + 1) % shape.per_global == 0 || i + 1 == shape.layers;
    LayerConfig layer;
    layer.kind = global ? LayerKind::global : LayerKind::sliding;
    layer.head_dim = global ? shape.head_global : shape.head_sliding;
    layer.kv_heads = global ? shape.kv_global : shape.kv_sliding;
    layer.ffn = shape.double_wide && i >= first_shared ? 2 * shape.ffn : shape.ffn;
    layer.value_is_key = shape.value_is_key && global;
    if (i < first_shared) last_of_kind[global ? 1 : 0] = i;
    layer.kv_layer = last_of_kind[global ? 1 : 0];
    c.layers.push_back(layer);
  }
  return c;
}

// Three sliding layers and a global one, which read the target's last ones of their kind.
AssistantConfig mtp_config_of(const MtpShape& shape, const Gemma4Config& target) {
  constexpr LayerKind kKinds[] = {LayerKind::sliding, LayerKind::sliding, LayerKind::sliding, LayerKind::global};
  AssistantConfig c;
  c.text.model_type = shape.model_type;
  c.text.hidden = shape.hidden;
  c.text.heads = shape.heads;
  c.text.vocab = target.vocab;
  c.text.window = target.window;
  c.text.context = target.context;
  c.text.rope_sliding = target.rope_sliding;
  c.text.rope_global = target.rope_global;
  for (const LayerKind kind : kKinds) {
    LayerConfig layer = target.layers[static_cast<size_t>(mtp_source_layer(target, kind))];
    layer.ffn = shape.ffn;
    layer.kv_layer = -1;
    c.text.layers.push_back(layer);
  }
  c.backbone_hidden = target.hidden;
  c.centroids = shape.centroids;
  c.centroid_top_k = shape.top;
  return c;
}

}  // namespace

const std::vector<std::string_view>& synthetic_names() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    for (const Shape& shape : kShapes) all.push_back(shape.name);
    return all;
  }();
  return names;
}

Result<Gemma4Config> synthetic_config(std::string_view name) {
  std::string known;
  for (const Shape& shape : kShapes) {
    if (shape.name == name) return config_of(shape);
    known += (known.empty() ? "" : ", ") + std::string(shape.name);
  }
  return Error{"no synthetic model is called '" + std::string(name) + "': expected one of " + known};
}

Result<AssistantConfig> synthetic_mtp_config(std::string_view name) {
  TRY_ASSIGN(const Gemma4Config target, synthetic_config(name));
  for (const MtpShape& shape : kMtpShapes)
    if (shape.name == name) return mtp_config_of(shape, target);
  return Error{"the synthetic model '" + std::string(name) + "' has no drafter"};
}

}  // namespace paceline
