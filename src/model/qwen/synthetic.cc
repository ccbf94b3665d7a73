#include "model/qwen/synthetic.h"

#include <cmath>
#include <string>

namespace paceline::qwen {
namespace {

// What tells the named shapes apart.
struct Shape {
  std::string_view name;
  const char* model_type;
  int32_t layers, hidden, ffn, heads, kv_heads, head_dim, vocab, context;
  int32_t experts, top, expert_ffn, shared_ffn;
  int32_t key_heads, value_heads;  // of Gated DeltaNet, in three layers of four; 0: attention everywhere
};

constexpr Shape kShapes[] = {
    {"qwen3-8b", "qwen3", 36, 4096, 12288, 32, 8, 128, 151936, 40960, 0, 0, 0, 0, 0, 0},
    {"qwen3-30b-a3b", "qwen3_moe", 48, 2048, 6144, 32, 4, 128, 151936, 40960, 128, 8, 768, 0, 0, 0},
    {"qwen35-9b", "qwen3_5", 32, 4096, 12288, 16, 4, 256, 248320, 262144, 0, 0, 0, 0, 16, 32},
    {"qwen35-27b", "qwen3_5", 64, 5120, 17408, 24, 4, 256, 248320, 262144, 0, 0, 0, 0, 16, 48},
    {"qwen35-35b-a3b", "qwen3_5_moe", 40, 2048, 0, 16, 2, 256, 248320, 262144, 256, 8, 512, 512, 16, 32},
    {"qwen35-140m", "qwen3_5", 12, 768, 2048, 6, 2, 128, 32768, 32768, 0, 0, 0, 0, 4, 8},
};

constexpr int32_t kDeltaEvery = 4, kDeltaDim = 128, kDeltaKernel = 4;

QwenConfig config_of(const Shape& shape) {
  QwenConfig c;
  c.model_type = shape.model_type;
  c.hidden = shape.hidden;
  c.vocab = shape.vocab;
  c.context = shape.context;
  c.heads = shape.heads;
  c.kv_heads = shape.kv_heads;
  c.head_dim = shape.head_dim;
  c.ffn = shape.ffn;
  c.experts = shape.experts;
  c.experts_per_token = shape.top;
  c.expert_ffn = shape.expert_ffn;
  c.shared_ffn = shape.shared_ffn;
  const bool recurrent = shape.key_heads > 0;
  c.rope_theta = recurrent ? 1e7 : 1e6;
  c.rotary = recurrent ? shape.head_dim / 4 : shape.head_dim;
  c.gates_attention = c.norms_from_one = recurrent;
  if (recurrent) c.delta = {shape.key_heads, shape.value_heads, kDeltaDim, kDeltaDim, kDeltaKernel};
  for (int32_t i = 0; i < shape.layers; ++i) {
    const bool attends = !recurrent || (i + 1) % kDeltaEvery == 0;
    c.layers.push_back({attends ? Mixer::attention : Mixer::delta, shape.experts > 0});
  }
  return c;
}

void make_attention(const QwenConfig& c, SyntheticMaker& maker, AttentionWeights& w) {
  const int32_t queries = c.heads * c.head_dim, keys = c.kv_heads * c.head_dim;
  w.q = maker.matrix(c.gates_attention ? 2 * queries : queries, c.hidden);
  w.k = maker.matrix(keys, c.hidden);
  w.v = maker.matrix(keys, c.hidden);
  w.o = maker.matrix(c.hidden, queries);
  w.q_norm.assign(static_cast<size_t>(c.head_dim), 1.0f / std::sqrt(static_cast<float>(c.head_dim)));
  w.k_norm.assign(static_cast<size_t>(c.head_dim), 1.0f);
}

void make_delta(const QwenConfig& c, SyntheticMaker& maker, DeltaWeights& w) {
  const kernels::DeltaShape& shape = c.delta;
  w.qkv = maker.matrix(shape.channels(), c.hidden);
  w.z = maker.matrix(shape.values(), c.hidden);
  w.a = maker.matrix(shape.value_heads, c.hidden);
  w.b = maker.matrix(shape.value_heads, c.hidden);
  w.out = maker.matrix(c.hidden, shape.values());
  const auto heads = static_cast<size_t>(shape.value_heads);
  w.taps.assign(static_cast<size_t>(shape.kernel) * static_cast<size_t>(shape.channels()), 0.5f);
  w.rate.assign(heads, -0.5f);
  w.bias.assign(heads, 0.0f);
  w.norm.assign(static_cast<size_t>(shape.value_dim), 1.0f);
}

void make_dense(int32_t hidden, int32_t ffn, SyntheticMaker& maker, FeedForwardWeights& w) {
  w.gate = maker.matrix(ffn, hidden);
  w.up = maker.matrix(ffn, hidden);
  w.down = maker.matrix(hidden, ffn);
}

void make_feed_forward(const QwenConfig& c, SyntheticMaker& maker, FeedForwardWeights& w) {
  if (c.experts == 0) return make_dense(c.hidden, c.ffn, maker, w);
  w.router = maker.matrix(c.experts, c.hidden);
  w.expert_gate = maker.stack(c.experts, c.expert_ffn, c.hidden);
  w.expert_up = maker.stack(c.experts, c.expert_ffn, c.hidden);
  w.expert_down = maker.stack(c.experts, c.hidden, c.expert_ffn);
  if (c.shared_ffn == 0) return;
  w.shared_gate = maker.matrix(1, c.hidden);
  make_dense(c.hidden, c.shared_ffn, maker, w);
}

void make_all(QwenWeights& w, SyntheticMaker& maker) {
  const QwenConfig& c = w.config;
  const auto hidden = static_cast<size_t>(c.hidden);
  w.embedding = maker.matrix(c.vocab, c.hidden);
  w.head = maker.matrix(c.vocab, c.hidden);
  w.final_norm.assign(hidden, 1.0f);
  w.expert_scale.assign(static_cast<size_t>(c.experts), 1.0f);
  for (const LayerConfig& layer : c.layers) {
    LayerWeights& l = w.layers.emplace_back();
    l.input_norm.assign(hidden, 1.0f);
    l.post_attention_norm.assign(hidden, 1.0f);
    layer.mixer == Mixer::delta ? make_delta(c, maker, l.delta) : make_attention(c, maker, l.attention);
    make_feed_forward(c, maker, l.ffn);
  }
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

Result<QwenConfig> synthetic_config(std::string_view name) {
  for (const Shape& shape : kShapes)
    if (shape.name == name) return config_of(shape);
  return Error{"no synthetic Qwen model is called '" + std::string(name) + "'"};
}

size_t synthetic_bytes(const QwenConfig& config, const SyntheticFormat& format) {
  QwenWeights w;
  w.config = config;
  SyntheticMaker maker(format, nullptr, w.owners);
  make_all(w, maker);
  return maker.bytes();
}

std::shared_ptr<const QwenWeights> make_synthetic(const QwenConfig& config, const SyntheticFormat& format,
                                                  ThreadPool& pool) {
  auto w = std::make_shared<QwenWeights>();
  w->config = config;
  SyntheticMaker maker(format, &pool, w->owners);
  make_all(*w, maker);
  return w;
}

}  // namespace paceline::qwen
