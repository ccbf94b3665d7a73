#include "model/gemma4/synthetic.h"

#include <numeric>

namespace paceline {
namespace {

LayerWeights make_layer(const Gemma4Config& c, int32_t i, SyntheticMaker& maker) {
  const LayerConfig& lc = c.layers[static_cast<size_t>(i)];
  const auto hidden = static_cast<size_t>(c.hidden);
  LayerWeights l;
  for (Vector* norm : {&l.input_norm, &l.post_attention_norm, &l.pre_ffn_norm, &l.post_ffn_norm})
    norm->assign(hidden, 1.0f);
  l.q_norm.assign(static_cast<size_t>(lc.head_dim), 1.0f);
  l.q = maker.matrix(c.heads * lc.head_dim, c.hidden);
  l.o = maker.matrix(c.hidden, c.heads * lc.head_dim);
  if (lc.kv_layer == i) {
    l.k_norm = l.q_norm;
    l.k = maker.matrix(lc.kv_heads * lc.head_dim, c.hidden);
    if (!lc.value_is_key) l.v = maker.wide_matrix(lc.kv_heads * lc.head_dim, c.hidden);
  }
  l.gate = maker.matrix(lc.ffn, c.hidden);
  l.up = maker.matrix(lc.ffn, c.hidden);
  l.down = maker.wide_matrix(c.hidden, lc.ffn);
  if (c.experts > 0) {
    for (Vector* norm : {&l.post_ffn_norm_1, &l.pre_ffn_norm_2, &l.post_ffn_norm_2, &l.router_scale})
      norm->assign(hidden, 1.0f);
    l.per_expert_scale.assign(static_cast<size_t>(c.experts), 1.0f);
    l.router = maker.matrix(c.experts, c.hidden);
    l.expert_gate = maker.stack(c.experts, c.expert_ffn, c.hidden);
    l.expert_up = maker.stack(c.experts, c.expert_ffn, c.hidden);
    l.expert_down = maker.stack(c.experts, c.hidden, c.expert_ffn);
  }
  if (c.ple_width > 0) {
    l.ple_gate = maker.matrix(c.ple_width, c.hidden);
    l.ple_projection = maker.matrix(c.hidden, c.ple_width);
    l.post_ple_norm.assign(hidden, 1.0f);
  }
  return l;
}

void make_all(Gemma4Weights& w, SyntheticMaker& maker) {
  const Gemma4Config& c = w.config;
  w.embedding = maker.wide_matrix(c.vocab, c.hidden);
  w.head = w.embedding;
  w.final_norm.assign(static_cast<size_t>(c.hidden), 1.0f);
  for (int32_t i = 0; i < c.layer_count(); ++i) w.layers.push_back(make_layer(c, i, maker));
  if (c.ple_width > 0) {
    w.ple_embedding = maker.matrix(c.ple_vocab, c.layer_count() * c.ple_width);
    w.ple_model_projection = maker.matrix(c.layer_count() * c.ple_width, c.hidden);
    w.ple_projection_norm.assign(static_cast<size_t>(c.ple_width), 1.0f);
  }
}

void make_all(MtpWeights& w, SyntheticMaker& maker) {
  const Gemma4Config& c = w.config.text;
  const int32_t backbone = w.config.backbone_hidden;
  w.pre_projection = maker.matrix(c.hidden, 2 * backbone);
  w.post_projection = maker.matrix(backbone, c.hidden);
  w.final_norm.assign(static_cast<size_t>(c.hidden), 1.0f);
  for (int32_t i = 0; i < c.layer_count(); ++i) w.layers.push_back(make_layer(c, i, maker));
  if (w.config.centroids == 0) {
    w.head = maker.matrix(c.vocab, c.hidden);
    return;
  }
  w.centroids = maker.matrix(w.config.centroids, c.hidden);
  w.clusters = maker.stack(w.config.centroids, c.vocab / w.config.centroids, c.hidden);
  w.cluster_tokens.resize(static_cast<size_t>(c.vocab));
  std::iota(w.cluster_tokens.begin(), w.cluster_tokens.end(), 0);
}

}  // namespace

size_t synthetic_bytes(const Gemma4Config& config, const SyntheticFormat& format) {
  Gemma4Weights w;
  w.config = config;
  SyntheticMaker maker(format, nullptr, w.owners);
  make_all(w, maker);
  return maker.bytes();
}

std::shared_ptr<const Gemma4Weights> make_synthetic(const Gemma4Config& config, const SyntheticFormat& format,
                                                    ThreadPool& pool) {
  auto w = std::make_shared<Gemma4Weights>();
  w->config = config;
  SyntheticMaker maker(format, &pool, w->owners);
  make_all(*w, maker);
  return w;
}

size_t synthetic_mtp_bytes(const AssistantConfig& config, const SyntheticFormat& format) {
  MtpWeights w;
  w.config = config;
  SyntheticMaker maker(format, nullptr, w.owners);
  make_all(w, maker);
  return maker.bytes();
}

std::shared_ptr<const MtpWeights> make_synthetic_mtp(const AssistantConfig& config, const SyntheticFormat& format,
                                                     ThreadPool& pool) {
  auto w = std::make_shared<MtpWeights>();
  w->config = config;
  SyntheticMaker maker(format, &pool, w->owners);
  make_all(*w, maker);
  return w;
}

}  // namespace paceline
