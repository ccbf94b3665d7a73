#include "speculate/dflash/dflash_synthetic.h"

#include <cmath>
#include <string>

namespace paceline {
namespace {

// What tells the named shapes apart. The last layer is full, the others slide where there is a window.
struct Shape {
  std::string_view name;
  int32_t layers, hidden, heads, kv_heads, head_dim, ffn;
  int32_t window;
  TokenId mask;
  std::vector<int32_t> tapped;
};

const std::vector<Shape>& shapes() {
  static const std::vector<Shape> all = {
      {"31b", 5, 5376, 64, 8, 128, 10752, 2048, 4, {1, 12, 23, 35, 46, 57}},
      {"26b-a4b", 5, 2816, 32, 8, 128, 5632, 2048, 4, {1, 6, 11, 17, 22, 27}},
      {"dense-220m", 2, 1024, 8, 2, 128, 2048, 512, 4, {1, 5, 9}},
      {"qwen3-8b", 5, 4096, 32, 8, 128, 12288, 0, 151669, {1, 9, 17, 25, 33}},
      {"qwen35-27b", 5, 5120, 32, 8, 128, 17408, 2048, 248070, {1, 16, 31, 46, 61}},
      {"qwen35-140m", 2, 768, 6, 2, 128, 2048, 0, 4, {1, 5, 9}},
  };
  return all;
}

DflashConfig config_of(const Shape& shape) {
  DflashConfig c;
  c.architecture = "DFlashDraftModel";
  c.hidden = shape.hidden;
  c.heads = shape.heads;
  c.kv_heads = shape.kv_heads;
  c.head_dim = shape.head_dim;
  c.ffn = shape.ffn;
  c.rope_theta = 1e6;
  c.window = shape.window;
  c.mask = shape.mask;
  c.tapped = shape.tapped;
  for (int32_t i = 0; i < shape.layers; ++i) {
    const bool slides = shape.window > 0 && i + 1 < shape.layers;
    c.layers.push_back({slides, slides});
  }
  return c;
}

void make_all(DflashWeights& w, SyntheticMaker& maker) {
  const DflashConfig& c = w.config;
  const int32_t queries = c.heads * c.head_dim, keys = c.kv_heads * c.head_dim;
  const auto hidden = static_cast<size_t>(c.hidden), dim = static_cast<size_t>(c.head_dim);
  w.fc = maker.matrix(c.hidden, static_cast<int32_t>(c.tapped.size()) * c.hidden);
  w.hidden_norm.assign(hidden, 1.0f);
  w.norm.assign(hidden, 1.0f);
  for (size_t i = 0; i < c.layers.size(); ++i) {
    DflashLayer& l = w.layers.emplace_back();
    l.input_norm.assign(hidden, 1.0f);
    l.post_attention_norm.assign(hidden, 1.0f);
    l.q_norm.assign(dim, 1.0f / std::sqrt(static_cast<float>(c.head_dim)));
    l.k_norm.assign(dim, 1.0f);
    l.q = maker.matrix(queries, c.hidden);
    l.k = maker.matrix(keys, c.hidden);
    l.v = maker.matrix(keys, c.hidden);
    l.o = maker.matrix(c.hidden, queries);
    l.gate = maker.matrix(c.ffn, c.hidden);
    l.up = maker.matrix(c.ffn, c.hidden);
    l.down = maker.matrix(c.hidden, c.ffn);
  }
}

}  // namespace

Result<DflashConfig> synthetic_dflash_config(std::string_view name) {
  for (const Shape& shape : shapes())
    if (shape.name == name) return config_of(shape);
  return Error{"the synthetic model '" + std::string(name) + "' has no DFlash drafter"};
}

size_t synthetic_dflash_bytes(const DflashConfig& config, const SyntheticFormat& format) {
  DflashWeights w;
  w.config = config;
  SyntheticMaker maker(format, nullptr, w.owners);
  make_all(w, maker);
  return maker.bytes();
}

std::shared_ptr<const DflashWeights> make_synthetic_dflash(const DflashConfig& config, const SyntheticFormat& format,
                                                           ThreadPool& pool) {
  auto w = std::make_shared<DflashWeights>();
  w->config = config;
  SyntheticMaker maker(format, &pool, w->owners);
  make_all(*w, maker);
  return w;
}

}  // namespace paceline
